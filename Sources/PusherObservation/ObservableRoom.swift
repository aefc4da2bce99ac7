public import Observation
public import PusherClient

/// The people of a presence channel, for a view that shows who is there and who is typing: see <doc:ShowItInSwiftUI>.
///
/// ```swift
/// let room = ObservableRoom(pusher.subscribeToPresenceChannel(channelName: "presence-room"))
/// for member in room.members { show(member.userId) }    // in the body of a view: ForEach(room.members, …)
/// ```
///
/// The object follows the channel from its creation until its release, or until the app unsubscribes. It keeps neither
/// the channel's subscription nor the client alive.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor @Observable
public final class ObservableRoom {
    /// The members in a stable order: whoever was there keeps their place, and new members come last. While the
    /// connection is lost, and after the app unsubscribes, the list keeps the last known members.
    public private(set) var members: [PusherPresenceChannelMember] = []

    /// The user id of this client's own member; nil until the channel is subscribed.
    public private(set) var myID: String?

    /// This client's own member; nil until the channel is subscribed.
    public var me: PusherPresenceChannelMember? { members.first { $0.userId == myID } }

    /// The other members who are typing, in the order of ``members``.
    public var typing: [PusherPresenceChannelMember] {
        members.filter { $0.userId != myID && typists.contains($0.userId) }
    }

    private var typists: Set<String> = []

    @ObservationIgnored private let channel: PusherPresenceChannel
    @ObservationIgnored private let typingTimeout: Duration
    @ObservationIgnored private let clock: any Clock<Duration>
    @ObservationIgnored private var work: Task<Void, Never>?
    @ObservationIgnored private var typingObservation: EventObservation?
    /// The waits after which somebody is no longer typing.
    @ObservationIgnored private var typingEnds: [String: Task<Void, Never>] = [:]

    /// Creates an object that follows a presence channel.
    ///
    /// - Parameters:
    ///   - channel: The presence channel whose members the room shows.
    ///   - typingEvent: The name of the client event that says that its sender is typing. Default: `client-typing`,
    ///     which `sendLatest("client-typing", data:)` sends.
    ///   - typingTimeout: The time after an event until its sender is no longer typing. Default: three seconds.
    ///   - clock: The clock for this time, for tests. Default: the system's.
    ///   - typist: A closure that returns the user id of an event's sender. Default: ``PusherEvent/userId``, which a
    ///     server adds to client events of presence channels. Read the event's data if your server does not add it.
    public init(
        _ channel: PusherPresenceChannel,
        typingEvent: String = "client-typing",
        typingTimeout: Duration = .seconds(3),
        clock: any Clock<Duration> = ContinuousClock(),
        typist: @escaping @MainActor @Sendable (PusherEvent) -> String? = { $0.userId }
    ) {
        self.channel = channel
        self.typingTimeout = typingTimeout
        self.clock = clock
        // The sequence is made first, so that no change is missed.
        let memberships = channel.memberships
        update()
        work = Task { [weak self] in
            for await _ in memberships { self?.update() }
        }
        typingObservation = channel.observe(named: typingEvent, on: MainActor.shared) { [weak self] event in
            if let user = typist(event) { self?.showTyping(user) }
        }
    }

    deinit {
        work?.cancel()
        for end in typingEnds.values { end.cancel() }
    }

    // MARK: Members

    /// Takes over the channel's list. The changes themselves do not count, because the sequence keeps only the newest ones
    /// if the main actor is busy.
    private func update() {
        let new = channel.members
        // Without a connection or a subscription, the channel has no members.
        guard !new.isEmpty else { return }
        var fresh = Dictionary(new.map { ($0.userId, $0) }) { first, _ in first }
        let kept = members.compactMap { fresh.removeValue(forKey: $0.userId) }
        members = kept + new.filter { fresh[$0.userId] != nil }
        for user in typists where !members.contains(where: { $0.userId == user }) { endTyping(user) }
        if let id = channel.myId, id != myID { myID = id }
    }

    // MARK: Typing

    private func showTyping(_ user: String) {
        // Only members count, so that a server cannot fill the memory with names. The channel's list may be newer than
        // this object's.
        guard channel.findMember(userId: user) != nil else { return }
        typists.insert(user)
        typingEnds[user]?.cancel()
        typingEnds[user] = Task { [weak self, clock, typingTimeout] in
            try? await clock.sleep(for: typingTimeout)
            // A later event may have cancelled the task after its sleep.
            if !Task.isCancelled { self?.endTyping(user) }
        }
    }

    private func endTyping(_ user: String) {
        typists.remove(user)
        typingEnds.removeValue(forKey: user)?.cancel()
    }
}
