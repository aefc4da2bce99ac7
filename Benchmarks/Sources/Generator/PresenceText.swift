import Workload

/// The messages about the members of a presence channel. All user ids have the same length.
enum PresenceText {
    private static func userID(_ index: Int) -> String { "user-\(100_000 + index)" }

    private static func info(_ index: Int) -> String { #"{"name":"Member \#(100_000 + index)","role":"reader"}"# }

    static func memberAdded(_ channel: String, _ index: Int) -> String {
        Payload.envelope(
            event: "pusher_internal:member_added",
            channel: channel,
            data: #"{"user_id":"\#(userID(index))","user_info":\#(info(index))}"#
        )
    }

    /// The message has a key that no client reads, so that leaves are as long as joins.
    static func memberRemoved(_ channel: String, _ index: Int) -> String {
        let name = "pusher_internal:member_removed"
        let added = memberAdded(channel, index)
        let filler = added.utf8.count - removed(name, channel, index, "").utf8.count
        return removed(name, channel, index, String(repeating: "-", count: filler))
    }

    private static func removed(_ name: String, _ channel: String, _ index: Int, _ filler: String) -> String {
        Payload.envelope(event: name, channel: channel, data: #"{"user_id":"\#(userID(index))","x":"\#(filler)"}"#)
    }

    /// The list in the answer to a subscription: this client, and the members.
    static func list(count: Int) -> String {
        let others = 0..<count
        let ids = ([#""me""#] + others.map { #""\#(userID($0))""# }).joined(separator: ",")
        let members = ([#""me":{}"#] + others.map { #""\#(userID($0))":\#(info($0))"# }).joined(separator: ",")
        return #"{"presence":{"count":\#(count + 1),"ids":[\#(ids)],"hash":{\#(members)}}}"#
    }
}
