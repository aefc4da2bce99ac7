import Foundation
import PusherClient

// Uses every public Swift symbol of PusherSwift 10.1 that exists here, in the order of the types.
// `DeprecatedSymbolsProgram.swift` has the deprecated symbols.

class EverySymbolProgram: NSObject, PusherDelegate {
    let pusher: Pusher
    let settings: Settings
    let say: (String) -> Void

    init(_ settings: Settings, say: @escaping (String) -> Void) {
        self.settings = settings
        self.say = say
        let options = PusherClientOptions(
            authMethod: .endpoint(authEndpoint: settings.authEndpoint),
            autoReconnect: true,
            host: .host(settings.host),
            port: settings.port,
            path: nil,
            useTLS: false,
            activityTimeout: 60
        )
        pusher = Pusher(key: settings.key, options: options)
        super.init()
        pusher.delegate = self
    }

    // MARK: PusherDelegate

    func debugLog(message: String) {}
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        say("state \(old.rawValue) \(new.rawValue) \(new.stringValue())")
    }
    func subscribedToChannel(name: String) { say("subscribed to \(name)") }
    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {}
    func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}
    func receivedError(error: PusherError) {
        let code: Int? = error.code
        say("error \(code ?? 0) \(error.message)")
    }

    // MARK: Pusher

    func usePusher() {
        let connection: PusherConnection = pusher.connection
        let delegate: PusherDelegate? = pusher.delegate
        precondition(delegate === self && connection === pusher.connection)

        let onMember: ((PusherPresenceChannelMember) -> Void)? = { member in self.say("member \(member.userId)") }
        let onCount: ((Int) -> Void)? = { count in self.say("count \(count)") }
        let auth: PusherAuth? = nil

        let first: PusherChannel = pusher.subscribe("first")
        _ = pusher.subscribe("second", auth: auth)
        _ = pusher.subscribe("third", onMemberAdded: onMember)
        _ = pusher.subscribe("fourth", onMemberAdded: onMember, onMemberRemoved: onMember)
        _ = pusher.subscribe("fifth", onSubscriptionCountChanged: onCount)
        _ = pusher.subscribe(
            "sixth",
            auth: auth,
            onMemberAdded: onMember,
            onMemberRemoved: onMember,
            onSubscriptionCountChanged: onCount
        )
        _ = pusher.subscribe(channelName: "seventh")
        _ = pusher.subscribe(channelName: "eighth", onMemberAdded: onMember)
        _ = pusher.subscribe(
            channelName: "ninth",
            onMemberAdded: onMember,
            onMemberRemoved: onMember,
            onSubscriptionCountChanged: onCount
        )
        let room: PusherPresenceChannel = pusher.subscribeToPresenceChannel(channelName: "presence-first")
        _ = pusher.subscribeToPresenceChannel(channelName: "presence-second", auth: auth)
        _ = pusher.subscribeToPresenceChannel(channelName: "presence-third", onMemberAdded: onMember)
        _ = pusher.subscribeToPresenceChannel(
            channelName: "presence-fourth",
            onMemberAdded: onMember,
            onMemberRemoved: onMember,
            onSubscriptionCountChanged: onCount
        )
        _ = pusher.subscribeToPresenceChannel(
            channelName: "presence-fifth",
            auth: auth,
            onMemberAdded: onMember,
            onMemberRemoved: onMember,
            onSubscriptionCountChanged: onCount
        )
        let subscribeByLabel: (String) -> PusherChannel = pusher.subscribe(channelName:)
        let subscribeToRoom: (String) -> PusherPresenceChannel = pusher.subscribeToPresenceChannel(channelName:)
        say("labels \(subscribeByLabel("tenth").name) \(subscribeToRoom("presence-sixth").name)")

        let id: String = pusher.bind(eventCallback: { (event: PusherEvent) in self.say("any \(event.eventName)") })
        let other = pusher.bind { event in self.use(event) }
        pusher.unbind(callbackId: id)
        pusher.connect()
        say("bound \(id != other) \(first.name) \(room.name)")
    }

    func leave() {
        pusher.unbindAll()
        pusher.unsubscribe("first")
        pusher.unsubscribeAll()
        pusher.connection.disconnect()
        pusher.disconnect()
    }

    // MARK: PusherClientOptions, PusherHost, AuthMethod

    func useOptions() -> [String] {
        let options = PusherClientOptions()
        let authMethod: AuthMethod = options.authMethod
        options.authMethod = AuthMethod.inline(secret: settings.secret)
        let activityTimeout: TimeInterval? = options.activityTimeout
        let path: String? = options.path
        let values: [(Bool, String, Int, Bool)] = [(options.autoReconnect, options.host, options.port, options.useTLS)]
        return values.map { "\($0.0) \($0.1) \($0.2) \($0.3)" }
            + [name(authMethod), name(options.authMethod), "\(activityTimeout ?? 0) \(path ?? "-")"]
            + [
                PusherHost.defaultHost.stringValue, PusherHost.host("a").stringValue,
                PusherHost.cluster("eu").stringValue,
            ]
    }

    func name(_ method: AuthMethod) -> String {
        switch method {
        case .endpoint(let authEndpoint): return authEndpoint
        case .authRequestBuilder(let authRequestBuilder): return "\(type(of: authRequestBuilder))"
        case .authorizer(let authorizer): return "\(type(of: authorizer))"
        case .inline(let secret): return secret
        case .noMethod: return "none"
        }
    }

    func useAuthMethods() -> [String] {
        let builder: AuthRequestBuilderProtocol = AuthRequestBuilder(url: settings.authEndpoint)
        let request: URLRequest? = builder.requestFor(socketID: "1.2", channelName: "private-a")
        let authorizer: Authorizer = SilentAuthorizer()
        authorizer.fetchAuthValue(socketID: "1.2", channelName: "private-a") { auth in
            self.say("authorizer \(auth == nil)")
        }
        return [request?.httpMethod ?? "-"]
            + [
                name(.endpoint(authEndpoint: "e")), name(.authRequestBuilder(authRequestBuilder: builder)),
                name(.authorizer(authorizer: authorizer)), name(.inline(secret: "s")), name(.noMethod),
            ]
    }

    // MARK: ConnectionState, PusherChannelType

    func useEnumerations() -> [String] {
        let states: [ConnectionState] = [.connecting, .connected, .disconnecting, .disconnected, .reconnecting]
        let types = [PusherChannelType(name: "presence-a"), .type(forName: "private-a"), .normal]
        let names = types.map { (type: PusherChannelType) -> String in
            switch type {
            case .private: return "private"
            case .presence: return "presence"
            case .normal: return "normal"
            }
        }
        return states.map { "\($0.rawValue) \($0.stringValue())" } + names
            + ["\(ConnectionState(rawValue: 4)?.stringValue() ?? "-")"]
            + ["\(PusherChannelType.isPresenceChannel(name: "presence-a"))"]
    }

    // MARK: PusherAuth, PusherEvent, PusherPresenceChannelMember, QueuedClientEvent

    func useValues() -> [String] {
        let auth = PusherAuth(auth: "a", channelData: "c", sharedSecret: "s")
        let short = PusherAuth(auth: "a")
        let member = PusherPresenceChannelMember(userId: "1", userInfo: ["name": "Ada"])
        let bare = PusherPresenceChannelMember(userId: "2")
        let info = member.userInfo as? PusherUserInfoObject
        return [
            "\(auth.auth) \(auth.channelData ?? "-") \(auth.sharedSecret ?? "-") \(short.channelData ?? "-")",
            "\(member.userId) \(info?["name"] as? String ?? "-") \(bare.userInfo == nil)",
        ]
    }

    func use(_ event: PusherEvent) {
        guard event.eventName == "every-symbol" else { return }
        let channelName: String? = event.channelName
        let data: String? = event.data
        let userId: String? = event.userId
        let copy = event.copy() as! PusherEvent
        let another = event.copy(with: nil) as? PusherEvent
        let same = copy.eventName == event.eventName && another?.data == data
        say(
            "event \(channelName ?? "-") \(data ?? "-") \(userId ?? "-") \(same) "
                + "\(event.property(withKey: "event") as? String ?? "-") \(event.property(withKey: "nothing") == nil)"
        )
    }

    // MARK: PusherChannel, PusherPresenceChannel, GlobalChannel, PusherChannels

    func useChannels() {
        let channels: PusherChannels = pusher.connection.channels
        let all: [String: PusherChannel] = channels.channels
        guard let channel = channels.find(name: "first"), let room = channels.findPresence(name: "presence-first")
        else { return }
        let connection: PusherConnection? = channel.connection
        let type: PusherChannelType = channel.type
        let subscribed: Bool = channel.subscribed
        let subscriptionCount: Int? = channel.subscriptionCount
        channel.auth = PusherAuth(auth: "unused")
        channel.onSubscriptionCountChanged = { count in self.say("\(count)") }
        let id = channel.bind(eventName: "a", eventCallback: { _ in })
        channel.bind(eventName: "b") { _ in }
        channel.bind(eventName: "b") { _ in }
        let handlers: [String: [EventHandler]] = channel.eventHandlers
        channel.unbind(eventName: "a", callbackId: id)
        channel.unbindAll(forEventName: "b")
        let unbound = channel.eventHandlers.count
        channel.bind(eventName: "c") { _ in }
        channel.unbindAll()
        room.onMemberAdded = { member in self.say("added \(member.userId)") }
        room.onMemberRemoved = nil
        let members: [PusherPresenceChannelMember] = room.members
        let myId: String? = room.myId
        let me: PusherPresenceChannelMember? = room.me()
        let found: PusherPresenceChannelMember? = room.findMember(userId: myId ?? "")
        room.trigger(eventName: "client-every-symbol", data: ["x": 1])
        let waiting: [QueuedClientEvent] = room.unsentEvents
        say("channels \(all.count > 10) \(connection === pusher.connection) \(type == .normal) \(subscribed)")
        say("handlers \(handlers["a"]!.count) \(handlers["b"]!.count) \(unbound) \(channel.eventHandlers.count)")
        say(
            "count \(subscriptionCount ?? -1) \(channel.auth?.auth ?? "-") \(channel.onSubscriptionCountChanged != nil)"
        )
        let names = waiting.map { (event: QueuedClientEvent) in "\(event.name) \(event.data)" }
        say("room \(members.count) \(me?.userId == myId) \(found?.userId == myId) \(names)")
    }

    // MARK: PusherConnection

    func useConnection() {
        let connection = pusher.connection
        let url: String = connection.url
        let key: String = connection.key
        let options: PusherClientOptions = connection.options
        let socketId: String? = connection.socketId
        let state: ConnectionState = connection.connectionState
        let fetcher: (() -> PusherPresenceChannelMember)? = connection.userDataFetcher
        connection.userDataFetcher = { PusherPresenceChannelMember(userId: "me") }
        connection.delegate = self
        let attempts: Int = connection.reconnectAttempts
        connection.reconnectAttempts = 0
        connection.reconnectAttemptsMax = 5
        connection.maxReconnectGapInSeconds = 10
        connection.pongResponseTimeoutInterval = 20
        connection.activityTimeoutInterval = 40
        let most: Int? = connection.reconnectAttemptsMax
        let gap: Double? = connection.maxReconnectGapInSeconds
        let times: [TimeInterval] = [connection.pongResponseTimeoutInterval, connection.activityTimeoutInterval]
        let global: GlobalChannel = connection.globalChannel
        let optional: GlobalChannel? = connection.globalChannel
        let callbacks: [String: (PusherEvent) -> Void] = global.globalCallbacks
        connection.sendEvent(event: "every:symbol", data: ["a": 1])
        connection.sendEvent(event: "client-x", data: ["a": 1], channel: connection.channels.find(name: "first"))
        connection.connect()
        say("connection \(url.hasPrefix("ws://")) \(key) \(options === connection.options) \(socketId != nil) \(state)")
        say("settings \(fetcher == nil) \(attempts) \(most!) \(gap!) \(times) \(connection.delegate === self)")
        say("global \(global.name) \(optional === global) \(callbacks.count)")
        global.unbindAll()
        say("global callbacks \(global.globalCallbacks.count)")
    }
}
