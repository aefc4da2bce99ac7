/// The faults that tests request for HTTP transports.
extension ServerBrain {
    package mutating func failTransportRequests(
        count: Int?,
        of requests: PusherTestServer.TransportRequests,
        with fault: PusherTestServer.TransportRequestFault
    ) -> [ServerAction] {
        transportFaults.append(fault, for: requests, count: count)
        return []
    }

    package mutating func acceptTransportRequests() -> [ServerAction] {
        transportFaults.removeAll()
        return []
    }

    mutating func nextTransportFault(of kind: TransportCall.Kind) -> PusherTestServer.TransportRequestFault? {
        transportFaults.next { $0.contains(kind.requests) }
    }

    mutating func befall(_ fault: PusherTestServer.TransportRequestFault, _ id: RequestID, _ call: TransportCall) {
        switch fault {
        case .status(let status):
            answer(id, call.request, RESTResponse(status: status, body: "failed with \(status), as requested"))
        case .dropped: perform(.drop(id))
        case .unanswered: perform(.ignore(id))
        case .delayed(let delay):
            delayedRequests[id] = schedule(.transportRequest(id, call), after: max(.zero, delay))
        case .answerLost:
            guard call.kind == .sending else { return perform(.drop(id)) }
            // The server drops the connection first, so the client does not get the answer.
            perform(.drop(id))
            obey(id, call)
        case .duplicated:
            guard call.kind == .polling else { return obey(id, call) }
            refuseSecondRequest(id)
            if let connection = sessions[call.session] { endSession(connection, isRemembered: true) }
        }
    }

    mutating func delayedRequestIsDue(_ id: RequestID, _ call: TransportCall) {
        delayedRequests[id] = nil
        obey(id, call)
    }

    package mutating func endStreams(_ target: PusherTestServer.Target, cleanly: Bool) -> [ServerAction] {
        for id in connections(target) {
            guard let receiver = connections[id]?.http?.receiver, receiver.isStreaming, !receiver.isFinished
            else { continue }
            if cleanly {
                finishResponse(of: id)
            } else {
                releaseHeldBytes(of: id)
                connections[id]?.http?.receiver?.isFinished = true
                perform(.drop(receiver.request))
            }
        }
        return takeActions()
    }

    package mutating func loseSessions(
        _ target: PusherTestServer.Target,
        answering: PusherTestServer.LostSession
    ) -> [ServerAction] {
        for id in connections(target) where connections[id]?.http != nil {
            record(.sessionLost, id)
            if let receiver = connections[id]?.http?.receiver, !receiver.isFinished {
                if receiver.isStreaming {
                    releaseHeldBytes(of: id)
                    perform(.ignore(receiver.request))
                } else {
                    endResponse(of: receiver)
                }
            }
            // The response of a replaced receiver is complete, and can still reach the client. So remove this receiver
            // here. Otherwise, `endSession` would abandon its response.
            removeReplaced(of: id)
            endSession(id, isRemembered: answering == .notFound)
        }
        return takeActions()
    }

    package mutating func bufferStreams(until size: Int?) -> [ServerAction] {
        streamBuffer = size
        for id in connections.keys.sorted() {
            guard let held = connections[id]?.http?.receiver?.held, held.count >= size ?? 0 else { continue }
            releaseHeldBytes(of: id)
        }
        return takeActions()
    }
}

extension TransportCall.Kind {
    fileprivate var requests: PusherTestServer.TransportRequests {
        switch self {
        case .streaming: .streaming
        case .polling: .polling
        case .sending: .sending
        }
    }
}
