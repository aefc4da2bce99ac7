import PusherClient
import TestSupport
import TestTraits
import Testing

@Suite("Signatures made by the client", .limited)
struct InlineAuthorizationTests {
    static let socketID = "45481.3166671"

    struct Vector: Sendable {
        var secret = "secret"
        var channel: String
        var member: PusherPresenceChannelMember?
        var data: String?
        var code: String
    }

    /// The channels and signatures that PusherSwift's tests use.
    static let vectors = [
        Vector(channel: "private-channel", code: "6aae8814fabd5285245422096705abbed64ea59614648814ffb0bf2dc5d19168"),
        Vector(
            channel: "private-test-channel",
            code: "0d0d2e7c2cd967246d808180ef0f115dad51979e48cac9ad203928141f9e6a6f"
        ),
        Vector(
            channel: "presence-channel",
            data: #"{"user_id":"45481.3166671"}"#,
            code: "5ce61ee2b8594e22b66323913d7c7af9d8e815659365be3627733993f4ce3824"
        ),
        Vector(
            channel: "presence-channel",
            member: PusherPresenceChannelMember(userId: "123"),
            data: #"{"user_id":"123"}"#,
            code: "c2b53f001321bc088814f210fb63c259b464f590890eee2dde6387ea9b469a30"
        ),
        Vector(
            channel: "presence-channel",
            member: PusherPresenceChannelMember(userId: "123", userInfo: ["friends": 0]),
            data: #"{"user_id":"123","user_info":{"friends":0}}"#,
            code: "80cfefb0ef08fb55353dbbc0480e6160059fac14fce862e9ed1f0121ae8a440f"
        ),
        Vector(
            secret: "superSecretSecret",
            channel: "private-channel",
            code: "e1d0947a10d6ff1a25990798910b2505687bb096e3e8b6c97eef02c6b1abb4c7"
        ),
    ]

    @Test(
        "the client makes the signatures of PusherSwift's tests, and keeps the case of the app key",
        arguments: vectors
    )
    func published(_ vector: Vector) async {
        var context = FakeRequester().context(key: "AppKey")
        if let member = vector.member { context.userDataFetcher = { member } }
        for method in [
            AuthMethod.inline(secret: vector.secret),
            .inline(secret: vector.secret, encryptionMasterKey: AuthMethodTests.masterKey),
        ] {
            let result = await method.authorize(vector.channel, socketID: Self.socketID, in: context)
            #expect(result.value == Authorization(auth: "AppKey:\(vector.code)", data: vector.data))
        }
    }

    @Test(
        "the client and a backend derive the same key for an encrypted channel",
        arguments: [
            (
                "private-encrypted-foobar", "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
                "e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533"
            ),
            (
                "private-encrypted-cache-foobar", "ZIyrVD+0Bk6W0N6MalhVZjcRCf/fF2zNDPkN9Kb3hoA=",
                "b9b56ee68b2117189dbac324760a1f9958070108e3ef45232e5dcbba37dbb831"
            ),
        ]
    )
    func encrypted(channel: String, secret: String, code: String) async {
        let method = AuthMethod.inline(
            secret: AuthMethodTests.secret,
            encryptionMasterKey: AuthMethodTests.masterKey
        )
        let context = FakeRequester().context(key: "278d425bdf160c739803")
        let result = await method.authorize(channel, socketID: "1234.1234", in: context)
        #expect(result.value == Authorization(auth: "278d425bdf160c739803:\(code)", sharedSecret: secret))
    }

    @Test("encrypted channels need a valid master key")
    func noMasterKey() async {
        let context = FakeRequester().context()
        let none = await AuthMethod.inline(secret: "geheim").authorize("private-encrypted-a", in: context).error
        #expect(none?.code == .invalidRequest)
        #expect(none?.message.contains(".inline(secret:encryptionMasterKey:)") == true)
        for key in ["", "geheim", "Z2VoZWlt", AuthMethodTests.masterKey + "A"] {
            let method = AuthMethod.inline(secret: "geheim", encryptionMasterKey: key)
            let error = await method.authorize("private-encrypted-a", in: context).error
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("the encryption master key is not 32 bytes in base64") == true)
            #expect(await method.authorize("private-a", in: context).value != nil)
        }
    }

    @Test("the client fetches user data for each presence authorization, and for no other channel")
    func userData() async {
        let asked = Log<Int>()
        let context = FakeRequester().context(userDataFetcher: {
            asked.append(1)
            return PusherPresenceChannelMember(userId: "\"é\\\n", userInfo: ["ü/": [1, nil, true, "x"] as [Any?]])
        })
        let method = AuthMethod.inline(secret: "s")
        #expect(await method.authorize("private-a", in: context).value?.data == nil)
        #expect(asked.count == 0)
        for channel in ["presence-a", "presence-cache-a"] {
            #expect(
                await method.authorize(channel, in: context).value?.data
                    == #"{"user_id":"\"é\\\n","user_info":{"ü/":[1,null,true,"x"]}}"#
            )
        }
        #expect(asked.count == 2)
    }
}
