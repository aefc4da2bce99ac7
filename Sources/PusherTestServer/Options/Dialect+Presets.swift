extension PusherTestServer.Dialect {
    /// Pusher's own service.
    public static let pusher = Self()

    /// soketi 1.6 (Node.js).
    public static let soketi = Self {
        $0.subscriptionSucceededData = .missing
        $0.pongData = .object
        $0.refusal = .errorThenClose
        $0.termination = .errorThenClose
        $0.duplicateSubscription = .success
        $0.reportsUnknownUnsubscription = false
        $0.subscriptionRefusal = .subscriptionError
        $0.presence.keepsNumericIDs = true
        $0.clientEvents.data = .unchanged
        $0.users.echoesAuth = true
        $0.users.signInRefusal = .close
        $0.users.sendsWatchlistEvents = false
    }

    /// Laravel Reverb 1.10 (PHP).
    public static let reverb = Self {
        $0.pingData = .missing
        $0.pongData = .missing
        $0.errorEncoding = .string
        $0.refusal = .errorThenDrop
        $0.termination = .errorThenDrop
        $0.duplicateSubscription = .success
        $0.reportsUnknownUnsubscription = false
        $0.subscriptionRefusal = .unauthorized
        $0.invalidMessageCode = 4200
        $0.invalidMessage = "Invalid message format"
        $0.escaping = .slashes
        $0.presence.keepsNumericIDs = true
        $0.presence.hash = .listWhereCounted
        $0.cache.replay = .unencryptedChannels
        $0.clientEvents.data = .unchanged
        $0.clientEvents.refusesStrings = true
        $0.users.knowsSignIn = false
    }

    /// pylon 0.2 (Rust).
    public static let pylon = Self {
        $0.subscriptionSucceededData = .emptyString
        $0.pongData = .object
        $0.refusal = .errorThenClose
        $0.termination = .errorThenClose
        $0.duplicateSubscription = .nothing
        $0.reportsUnknownUnsubscription = false
        $0.subscriptionRefusal = .subscriptionError
        $0.clientEvents.data = .unchanged
        $0.clientEvents.errorsNameChannel = true
        $0.users.signInRefusal = .close
        $0.users.watchlistEvents = .object
    }

    /// ipe (Go).
    public static let ipe = Self {
        $0.refusal = .errorThenDrop
        $0.termination = .errorThenDrop
        $0.duplicateSubscription = .success
        $0.reportsUnknownUnsubscription = false
        $0.escaping = .angleBrackets
        $0.appendsNewline = true
        $0.presence.refusesNumericIDs = true
        $0.cache.replay = .none
        $0.clientEvents.data = .unchanged
        $0.clientEvents.addsUserID = false
        $0.users.knowsSignIn = false
    }

    /// poxa 1.3 (Elixir).
    public static let poxa = Self {
        $0.idleLimit = IdleLimit(.seconds(120), ending: .close(code: 1000))
        $0.subscriptionSucceededData = .object
        $0.pongData = .object
        $0.refusal = .close
        $0.duplicateSubscription = .success
        $0.reportsUnknownUnsubscription = false
        $0.cache.replay = .none
        $0.clientEvents.data = .unchanged
        $0.clientEvents.addsUserID = false
        $0.users.knowsSignIn = false
    }

    /// slanger 0.6 (Ruby).
    public static let slanger = Self {
        $0.errorEncoding = .string
        $0.missingCode = .absent
        $0.refusal = .errorThenEmptyClose
        $0.termination = .errorThenEmptyClose
        $0.presence.keepsNumericIDs = true
        $0.presence.sharedUser = .listedTwice
        $0.presence.succeedsBeforeJoining = true
        $0.presence.memberEvents = .object
        $0.cache.replay = .none
        $0.clientEvents.data = .unchanged
        $0.clientEvents.addsUserID = false
        $0.users.knowsSignIn = false
    }

    /// pusher-fake 6.1 (Ruby).
    public static let pusherFake = Self {
        $0.acceptsAnyKey = true
        $0.refusal = .close
        $0.duplicateSubscription = .success
        $0.reportsUnknownUnsubscription = false
        $0.subscriptionRefusal = .internalSubscriptionError
        $0.presence.listsIDs = false
        $0.presence.sharedUser = .announcedAgain
        $0.presence.tellsInfoOfLeavers = true
        $0.cache.replay = .publicChannels
        $0.cache.missData = .nullString
        $0.clientEvents.addsUserID = false
        $0.users.knowsSignIn = false
    }

    private init(_ change: (inout Self) -> Void) {
        self.init()
        change(&self)
    }
}
