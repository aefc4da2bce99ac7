import NIOCore
import PusherClient
import PusherEncryption
import PusherTestServer

/// Carries out a script.
extension SimulatedWorld {
    func perform(_ planned: PlannedAction) {
        if planned.isOnLoop {
            // A call on the loop needs a running loop, so the client wakes.
            wake()
            loop.inside { perform(planned.action) }
        } else {
            perform(planned.action)
        }
        if planned.settles { settle() }
    }

    private func perform(_ action: Action) {
        switch action {
        case .connect, .disconnect, .subscribe, .unsubscribe, .unsubscribeAll, .resubscribe, .bind, .bindToAll,
            .bindReacting, .unbind, .read, .countDown, .stopReading, .trigger, .send, .signIn, .signOut, .await,
            .cancel, .checkConnection, .reconnectNow, .switchEndpoint, .dropClient:
            wake()
            call(action)
        case .latency, .cutIntoPieces, .fragment, .nextConnections, .cut, .goDeaf, .failRequests, .slowWrites,
            .blockUpgrades:
            disturbNetwork(action)
        case .close, .error, .dropConnections, .restart, .publish, .publishUnreadable, .rotateKey, .publishWithOldKey,
            .failAuthorizations, .failSignIns, .failSubscriptions, .failConnections, .goSilent, .speakAgain,
            .delayMessages, .ping, .webSocketPing, .say, .sayBytes, .sayBinary, .memberJoins, .memberLeaves,
            .memberSpeaks, .publishToUser, .forgetCache, .announceActivityTimeout, .limitIdleTime, .terminateUser,
            .failTransportRequests, .endStreams, .loseSessions, .bufferStreams:
            command(action)
        case .advance(let milliseconds):
            pass(.milliseconds(milliseconds))
        case .suspend(let seconds):
            suspend(for: .seconds(seconds))
        case .fallAsleep(let isSuspended): fallAsleep(isSuspended: isSuspended)
        case .wake: wake()
        }
    }

    /// Lets time pass, and checks that the client does not retry endlessly without a pause.
    private func pass(_ duration: Duration) {
        let before = network.openCount
        advance(by: duration)
        let count = network.openCount - before
        let allowed = 20 + 3 * Int(duration.components.seconds)
        violations.check(count <= allowed, "\(count) attempts to connect within \(duration)")
        if duration >= .seconds(1), !loop.isAsleep { checkServer() }
    }

    // MARK: The app

    private func call(_ action: Action) {
        switch action {
        case .connect: application.connect()
        case .disconnect: application.disconnect()
        case .subscribe(let name): application.subscribe(name)
        case .unsubscribe(let name): application.unsubscribe(name)
        case .unsubscribeAll: application.unsubscribeAll()
        case .resubscribe(let name): application.channel(name)?.resubscribe()
        case .bind(let name, let event): application.bind(name, event: event)
        case .bindToAll(let event): application.bind(nil, event: event)
        case .bindReacting(let name, let reaction): application.bind(name, event: nil, reaction: reaction)
        case .unbind(let index): application.unbind(index)
        case .read(let name, let event): application.read(name, event: event)
        case .countDown(let milliseconds, let limit): application.countDown(every: milliseconds, atMost: limit)
        case .stopReading(let index): application.stopReading(index)
        case .trigger(let name): application.trigger(name)
        case .send(let name): application.send(name)
        case .signIn:
            application.setWantsSignIn(true)
            application.pusher?.signIn()
        case .signOut:
            application.setWantsSignIn(false)
            application.pusher?.signOut()
        case .await(let awaited): application.await(awaited)
        case .cancel(let index): application.cancel(index)
        case .checkConnection: application.checkConnection()
        case .reconnectNow: application.reconnectNow()
        case .switchEndpoint: switchEndpoint()
        case .dropClient:
            application.dropClient()
            makeClient()
        default: break
        }
    }

    private func switchEndpoint() {
        isAtSecondEndpoint.toggle()
        let (host, path) = isAtSecondEndpoint ? ("second.test", "/second") : ("server.test", "")
        let endpoint = PusherEndpoint(host: host, path: path, useTLS: settings.useTLS)
        application.ledger.called()
        do {
            try application.pusher?.switchTo(endpoint: endpoint)
        } catch {
            violations.add("switchTo() failed: \(error)")
        }
    }

    // MARK: The network

    private func disturbNetwork(_ action: Action) {
        switch action {
        case .latency(let range): conditions.latency = range
        case .cutIntoPieces(let size): conditions.pieceSize = size
        case .fragment(let count): conditions.fragments = count
        case .nextConnections(let outcome, let count): network.expect(outcome, count: count)
        case .cut(let delay):
            for link in network.currentLinks { link.cut(clientHearsAfter: .milliseconds(delay)) }
        case .goDeaf(let toClient, let toServer):
            for link in network.currentLinks { link.lose(toClient: toClient, toServer: toServer) }
        case .blockUpgrades(let fault): network.blockUpgrades(with: fault)
        case .failRequests(let fails): network.failsRequests = fails
        case .slowWrites(let milliseconds): conditions.writeDelay = .milliseconds(Int64(milliseconds))
        default: break
        }
    }

    private var conditions: SimulatedNetwork.Conditions {
        get { network.conditions }
        set { network.conditions = newValue }
    }

    // MARK: The server

    private func command(_ action: Action) {
        let server = server.server
        switch action {
        case .close(let code): server.closeConnections(clients, code: code)
        case .error(let code, let message):
            application.serverLies()
            server.sendError(code: code, message: message, to: clients)
        case .dropConnections: server.dropConnections(clients)
        case .restart(let refusing): restart(refusing: refusing)
        case .publish(let channel, let event): publish(event, to: channel)
        case .publishUnreadable(let channel):
            let data = #"{"nonce":"AAAA","ciphertext":"AAAA"}"#
            server.sendEvent("first", data: data, channel: channel, to: .subscribers(of: channel))
        case .rotateKey:
            // An app that signs with its secret makes the keys itself, so the server cannot change them.
            guard settings.authorization != .inline else { return }
            for name in ScriptWriter.channels where name.hasPrefix("private-encrypted-") {
                oldSecrets[name] = server.authorization(forSocket: "1.1", channel: name).sharedSecret
            }
            server.rotateEncryptionKey()
            noteKeys()
        case .publishWithOldKey(let channel): publishWithOldKey(channel)
        case .failAuthorizations(let fault, let count):
            server.failAuthorizations(count, with: fault)
        case .failSignIns(let fault, let count): server.failUserAuthentications(count, with: fault)
        case .failSubscriptions(let channel, let fault):
            // The server's error may name another channel than the refused channel.
            let isFalse = if case .error(_, let message) = fault { message != "no" } else { false }
            application.refuses(channel, falsely: isFalse)
            server.failSubscriptions(to: channel, with: fault)
        case .failConnections(let fault, let count): server.failConnections(count, with: fault)
        case .goSilent:
            // While the server is silent, the network loses the client's messages, but the connection stays open.
            network.setServerDeaf(true)
            server.goSilent()
        case .speakAgain:
            network.setServerDeaf(false)
            server.speakAgain()
        case .delayMessages(let milliseconds):
            setServerDelay(.milliseconds(milliseconds))
            server.delayMessages(by: .milliseconds(milliseconds))
        case .ping: server.sendPing()
        case .webSocketPing: server.sendWebSocketPing([1, 2, 3])
        case .say(let text):
            if Self.isClaim(text) {
                application.serverLies()
                network.current?.setInconsistent()
            }
            server.sendText(text, to: clients)
        case .sayBytes(let bytes): server.sendRawBytes(bytes, to: clients)
        case .sayBinary: server.sendBinary([0, 1, 2], to: clients)
        case .memberJoins(let channel):
            guard members.count < 5 else { return }
            joinCount += 1
            // If a server does not count the connections of a user, no client can know when the last of them is closed.
            // So each user of such a server has one connection.
            let countsConnections = self.server.server.options.dialect.presence.sharedUser != .announcedAgain
            let number = countsConnections ? members.count : joinCount
            members.append(OtherMember("user-\(number)", on: channel, server: self.server, loop: loop))
        case .memberLeaves(let channel):
            guard let index = members.firstIndex(where: { $0.channel == channel }) else { return }
            members.remove(at: index).leave()
        case .memberSpeaks(let channel):
            members.first { $0.channel == channel }?.speak(ledger.nextNumber())
        case .publishToUser:
            let number = ledger.nextNumber()
            do {
                try server.publish(event: "first", data: EventNumber.text(number), toUser: "me")
            } catch {
                violations.add("the server does not publish to a user: \(error)")
            }
        case .forgetCache: server.forgetCachedEvents()
        case .announceActivityTimeout(let seconds):
            if seconds.map(takesPings) != false { server.setActivityTimeout(seconds) }
        case .limitIdleTime(let seconds, let closes):
            guard seconds.map(takesPings) != false else { break }
            server.setIdleLimit(seconds.map { .init(.seconds($0), ending: closes ? .close(code: 1000) : .drop) })
        case .terminateUser: server.terminateConnections(ofUser: "me")
        case .failTransportRequests(let requests, let fault, let count):
            network.setBadRequests(true)
            server.failTransportRequests(count, of: requests, with: fault)
        case .endStreams(let isClean): server.endStreams(clients, cleanly: isClean)
        case .loseSessions(let answer): server.loseSessions(clients, answering: answer)
        case .bufferStreams(let size):
            network.setBadRequests(true)
            application.networkHoldsBack(size != nil)
            server.bufferStreams(until: size)
        default: break
        }
    }

    /// Whether the server's message limit allows pings at this interval. If an idle limit requires more pings, no
    /// client can satisfy the server.
    private func takesPings(every seconds: Int) -> Bool {
        if case .perMinute = settings.messageLimit { seconds >= 10 } else { true }
    }

    /// Whether a message contains false information about a subscription, members or the user.
    private static func isClaim(_ text: String) -> Bool {
        ["pusher_internal:", "subscription_error", "signin_success", "connection_established"].contains {
            text.contains($0)
        }
    }

    /// The client's connections, without the connections of other members.
    private var clients: PusherTestServer.Target { .socket(socketID ?? "none") }

    /// The socket id of the client according to the server; nil if the client has no connection.
    var socketID: String? {
        // The latest connection that belongs to no member is the connection of the client.
        let others = Set(members.compactMap(\.socketID))
        return server.server.connections.last { !others.contains($0.socketID) }?.socketID
    }

    private func restart(refusing count: Int) {
        network.expect(.refused, count: count)
        for member in members { member.leave() }
        members = []
        server.server.forgetCachedEvents()
        server.server.dropConnections()
    }

    private func publishWithOldKey(_ channel: String) {
        let number = ledger.nextNumber()
        guard let key = oldSecrets[channel].flatMap({ SecretKey(base64: $0) }),
            let data = EncryptedEvent.seal(EventNumber.text(number), with: key)
        else { return }
        server.server.sendEvent("first", data: data, channel: channel, to: .subscribers(of: channel))
    }

    func publish(_ event: String, to channel: String) {
        let number = ledger.nextNumber()
        do {
            try server.server.publish(event: event, data: EventNumber.text(number), to: channel)
            published[channel] = number
        } catch {
            violations.add("the server does not publish on \(channel): \(error)")
        }
    }
}
