extension PusherStatistics {
    /// Events for the application.
    ///
    /// Each of the ``received`` events is one of the ``delivered`` or the ``undecryptable``, is ``held``, or was dropped
    /// as ``DropReason/notSubscribed`` or ``DropReason/notConnected``. What is dropped for another reason was delivered
    /// before, and then missed by a consumer.
    public struct Events: Hashable, Sendable {
        /// Events that came from the server.
        public var received = 0
        /// Events that were handed over to the handlers and sequences that there were for them, by way of the
        /// ``PayloadTransformer``, if there is one.
        public var delivered = 0
        /// Delivered events for which there was neither a handler nor a sequence when they came. Nothing is wrong
        /// where that is what is wanted; else a name may be.
        public var unhandled = 0
        /// Events of encrypted channels that could not be read. Each is reported.
        public var undecryptable = 0
        /// The events of encrypted channels that wait for a key now.
        public var held = 0
        /// What was dropped, by the reason. Of sequences and callbacks it is not events alone.
        public var dropped: [DropReason: Int] = [:]

        /// Makes statistics without any event.
        public init() {}
    }

    /// Why an event did not come to where it could have. New reasons may come with new versions: keep a `default` when
    /// you switch over them.
    public struct DropReason: RawRepresentable, Hashable, Sendable {
        /// The reason's name, as it is printed.
        public let rawValue: String

        /// Makes a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Nobody wants the channel: it was unsubscribed while the event was on its way or waited for a key; or it is
        /// that of a user who is not signed in.
        public static let notSubscribed = Self(rawValue: "notSubscribed")
        /// The event came before the server's greeting, after ``Pusher/disconnect()``, or on a connection that was
        /// given up.
        public static let notConnected = Self(rawValue: "notConnected")
        /// A sequence was full: see ``PusherClientOptions/Limits-swift.struct/sequenceBuffer``. Counted for each
        /// sequence, whatever its elements are: beside events statuses, errors, members and all others. Reported.
        public static let sequenceOverflow = Self(rawValue: "sequenceOverflow")
        /// A callback did not run because too many waited for their queue: see
        /// ``PusherClientOptions/Limits-swift.struct/pendingCallbacks``. Reported.
        public static let callbackOverflow = Self(rawValue: "callbackOverflow")
        /// The data was not what a typed sequence or handler expects. Counted for each of them. Reported.
        public static let undecodable = Self(rawValue: "undecodable")
        /// The ``PayloadTransformer`` threw. Reported.
        public static let transformerFailed = Self(rawValue: "transformerFailed")
    }
}

extension PusherStatistics.DropReason: CustomStringConvertible {
    /// The reason's name.
    public var description: String { rawValue }
}
