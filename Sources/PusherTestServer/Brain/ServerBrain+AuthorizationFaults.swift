/// The requests to the authorization endpoints that a fault befalls.
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

/// Which authorizations fail, as the tests ask for it.
extension ServerBrain {
    package mutating func failAuthorizations(
        count: Int?,
        of target: AuthorizationTarget,
        with fault: PusherTestServer.AuthorizationFault
    ) -> [ServerAction] {
        if let count, count <= 0 { return [] }
        // What comes after a fault without an end would never be reached.
        authorizationFaults.removeAll { $0.target == target && $0.remaining == nil }
        authorizationFaults.append((target, fault, count))
        return []
    }

    package mutating func acceptAuthorizations() -> [ServerAction] {
        authorizationFaults = []
        return []
    }

    mutating func nextAuthorizationFault(for call: AuthorizationCall) -> PusherTestServer.AuthorizationFault? {
        let indices = authorizationFaults.indices.filter { authorizationFaults[$0].target.includes(call) }
        // One without an end goes behind those that have one, and gives way to a newer one without.
        let counted = indices.first { authorizationFaults[$0].remaining != nil }
        guard let index = counted ?? indices.last else { return nil }
        let (_, fault, remaining) = authorizationFaults[index]
        if let remaining {
            if remaining > 1 {
                authorizationFaults[index].remaining = remaining - 1
            } else {
                authorizationFaults.remove(at: index)
            }
        }
        return fault
    }
}
