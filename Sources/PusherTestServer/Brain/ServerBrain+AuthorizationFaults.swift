/// The authorization requests that a fault affects.
package enum AuthorizationTarget: Hashable, Sendable {
    case all
    case channel(String)
    case users

    func includes(_ call: AuthorizationCall) -> Bool {
        switch self {
        case .all: true
        case .channel(let name): call.channelNames.contains(name)
        case .users: call.isForUser
        }
    }
}

/// The faults of authorization requests.
extension ServerBrain {
    package mutating func failAuthorizations(
        count: Int?,
        of target: AuthorizationTarget,
        with fault: PusherTestServer.AuthorizationFault
    ) -> [ServerAction] {
        authorizationFaults.append(fault, for: target, count: count)
        return []
    }

    package mutating func acceptAuthorizations() -> [ServerAction] {
        authorizationFaults.removeAll()
        return []
    }

    mutating func nextAuthorizationFault(for call: AuthorizationCall) -> PusherTestServer.AuthorizationFault? {
        authorizationFaults.next { $0.includes(call) }
    }
}
