import Foundation
import PusherEncryption
import PusherServerAPI
import RealtimeHTTP
import TestSupport
import TestTraits
import Testing

/// The vectors come from the service's documents and from its official server libraries.
@Suite("Signatures of the server API", .limited)
struct SignatureTests {
    private static let key = OfflineAPI.application.key
    private let socketID = "1234.1234"

    @Test(
        "a channel's authorization matches the official libraries",
        arguments: [
            ("private-foobar", nil, "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"),
            ("private-encrypted-foobar", nil, "e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533"),
            ("private-cache-foobar", nil, "395f4a03f06e17b74af8d9c58386cf386e70176f58452420f042b6e1bddefa43"),
            ("private-encrypted-cache-foobar", nil, "b9b56ee68b2117189dbac324760a1f9958070108e3ef45232e5dcbba37dbb831"),
            (
                "presence-foobar", #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#,
                "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80"
            ),
            (
                "presence-foobar", #"{"user_id":10,"user_info":{"name":"Mr. Pusher"}}"#,
                "afaed3695da2ffd16931f457e338e6c9f2921fa133ce7dac49f529792be6304c"
            ),
            (
                "presence-foobar", #"{"user_id":"11","user_info":{"name":"Zoë 🚀"}}"#,
                "973b1c866295670a657c2c09aef1c6d2a1830b19fd8f2c833fa195dbf028b3c0"
            ),
            (
                "presence-cache-foobar", #"{"user_id":"11"}"#,
                "204443b563da58bf9b5c758d2c167d60597de54dfb93f10cea43909e97c8cbe3"
            ),
        ] as [(String, String?, String)]
    )
    func channel(name: String, channelData: String?, signature: String) throws {
        let (api, requester) = try OfflineAPI.make()
        let member = channelData.map { PusherServerAPI.Member(channelData: $0) }
        let authorization = try api.authorizeChannel(name, socketID: socketID, member: member)
        #expect(authorization.auth == "\(Self.key):\(signature)")
        #expect(authorization.channelData == channelData)
        #expect((authorization.sharedSecret != nil) == name.hasPrefix("private-encrypted-"))
        #expect(requester.log.count == 0)
    }

    @Test("the library writes members and users as in the vectors")
    func texts() throws {
        struct Info: Encodable { let name: String }
        let member = try PusherServerAPI.Member(id: "11", info: Info(name: "Zoë 🚀"))
        #expect(member.channelData == #"{"user_id":"11","user_info":{"name":"Zoë 🚀"}}"#)
        #expect(PusherServerAPI.Member(id: "11").channelData == #"{"user_id":"11"}"#)
        #expect(PusherServerAPI.User(id: "12345").userData == #"{"id":"12345"}"#)
        let user = try PusherServerAPI.User(id: "1", info: Info(name: "Zoë"), watchlist: ["2", "3"])
        #expect(user.userData == #"{"id":"1","user_info":{"name":"Zoë"},"watchlist":["2","3"]}"#)
        let (api, _) = try OfflineAPI.make()
        #expect(
            try api.authenticateUser(user, socketID: socketID).auth
                == "\(Self.key):31a12919d25cfe278f8689d93abbcf79a1f40fe4996b9789a1f1a4d3529637e3"
        )
        #expect(
            try api.authenticateUser(.init(id: "12345"), socketID: socketID).auth
                == "\(Self.key):4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"
        )
    }

    @Test("the answer to a client is a JSON object with all required members")
    func answer() throws {
        let (api, _) = try OfflineAPI.make()
        let secret = try api.authorizeChannel("private-encrypted-foobar", socketID: socketID)
        #expect(
            secret.jsonText
                == #"{"auth":"\#(secret.auth)","shared_secret":"g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY="}"#
        )
        let present = try api.authorizeChannel("presence-a", socketID: socketID, member: .init(id: "1"))
        #expect(present.jsonText == #"{"auth":"\#(present.auth)","channel_data":"{\"user_id\":\"1\"}"}"#)
        let user = try api.authenticateUser(.init(id: "1"), socketID: socketID)
        #expect(user.jsonText == #"{"auth":"\#(user.auth)","user_data":"{\"id\":\"1\"}"}"#)
    }

    @Test("the key of an encrypted channel matches the official libraries")
    func sharedSecret() throws {
        let (api, _) = try OfflineAPI.make()
        let name = "private-encrypted-cache-foobar"
        #expect(
            try api.authorizeChannel(name, socketID: socketID).sharedSecret
                == "ZIyrVD+0Bk6W0N6MalhVZjcRCf/fF2zNDPkN9Kb3hoA="
        )
    }

    @Test("the library's signed requests match the requests of the official libraries")
    func requests() async throws {
        let (api, requester) = try OfflineAPI.make(answers: [.answer(200, #"{"channels":{}}"#)])
        try await api.trigger(.init("foo", data: #"{"some":"data"}"#), on: "project-3")
        _ = try await api.channels(withPrefix: "presence-", info: .userCount)
        try await api.trigger([.init(.init("n", data: "{}"), on: "a")])
        try await api.terminateConnections(ofUser: "u1")

        let root = "https://api-eu.pusher.com:443/apps/3"
        let common = "auth_key=\(Self.key)&auth_timestamp=1353088179&auth_version=1.0"
        let requests = requester.log.elements
        #expect(requests.map(\.method) == ["POST", "GET", "POST", "POST"])
        #expect(
            requests.map(\.url) == [
                "\(root)/events?\(common)&body_md5=ec365a775a4cd0599faeb73354201b6f"
                    + "&auth_signature=da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c",
                "\(root)/channels?\(common)&filter_by_prefix=presence-&info=user_count"
                    + "&auth_signature=16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291",
                "\(root)/batch_events?\(common)&body_md5=8961412d0c7bb007f31ba05a97d68f70"
                    + "&auth_signature=a81cd18dc56b7b9b8f547953b0820cf231b3d795f41cbac8805e4106b9e959cc",
                "\(root)/users/u1/terminate_connections?\(common)&body_md5=99914b932bd37a50b983c5e7c90ae93b"
                    + "&auth_signature=61efad5e9fe693a686a71ff197d9770bd2c257d87ce961f4efda2dae952c4345",
            ]
        )
        #expect(
            requests.map { $0.body.map { String(decoding: $0, as: UTF8.self) } } == [
                #"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#, nil,
                #"{"batch":[{"channel":"a","name":"n","data":"{}"}]}"#, "{}",
            ]
        )
    }

    // MARK: Webhooks

    private static let webhookBody =
        #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
    private static let webhookSignature = "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf"

    /// The second in which the webhook was sent.
    private static let webhookTime = 1_327_078_148

    @Test("the library accepts a webhook from the documents")
    func webhook() throws {
        let (api, _) = try OfflineAPI.make(unixTime: Self.webhookTime)
        let webhook = try api.webhook(body: Self.webhookBody.utf8, key: Self.key, signature: Self.webhookSignature)
        #expect(webhook.time == Date(timeIntervalSince1970: 1_327_078_148.132))
        #expect(webhook.events == [.init(.channelOccupied, channel: "my-channel")])
    }

    @Test("the data of a client event in a webhook is the text that the server sent")
    func webhookData() throws {
        let (api, _) = try OfflineAPI.make(unixTime: Self.webhookTime)
        let data = #"{"b":18446744073709551615,"a":0.10,"far":1}"#
        let event = #"{"name":"client_event","channel":"private-a","event":"client-e","data":\#(data)}"#
        let body = #"{"time_ms":1327078148132,"events":[\#(event)]}"#
        let signature = HMACSHA256.hexadecimal(body, secret: OfflineAPI.application.secret)
        let webhook = try api.webhook(body: body.utf8, key: Self.key, signature: signature)
        #expect(webhook.events.map(\.data) == [data])
    }

    @Test(
        "the library rejects a webhook with another key, signature or body",
        arguments: [
            (webhookBody, nil, webhookSignature), (webhookBody, "another-key", webhookSignature),
            (webhookBody, key, nil), (webhookBody, key, ""), (webhookBody, key, String(webhookSignature.dropLast())),
            (webhookBody + " ", key, webhookSignature), ("", key, webhookSignature),
        ] as [(String, String?, String?)]
    )
    func badWebhook(body: String, key: String?, signature: String?) throws {
        let (api, _) = try OfflineAPI.make(unixTime: Self.webhookTime)
        #expect {
            try api.webhook(body: body.utf8, key: key, signature: signature)
        } throws: { error in
            (error as? PusherServerAPIError)?.code == .invalidWebhook
        }
    }

    @Test(
        "the library rejects a webhook that is older than the maximum age or too far in the future, and gives the reason",
        arguments: [
            (300, nil, nil), (-300, nil, nil), (302, nil, "it is 301 s old, and webhookMaximumAge is 300 s"),
            (-302, nil, "it is 302 s in the future"), (31_536_000, nil, "it is 31535999 s old"),
            (12, .seconds(10), "and webhookMaximumAge is 10 s"), (3_600, .seconds(7_200), nil),
        ] as [(Int, Duration?, String?)]
    )
    func webhookAge(age: Int, maximum: Duration?, reason: String?) throws {
        let (api, _) = try OfflineAPI.make(unixTime: Self.webhookTime + age) { options in
            if let maximum { options.webhookMaximumAge = maximum }
        }
        let read = { try api.webhook(body: Self.webhookBody.utf8, key: Self.key, signature: Self.webhookSignature) }
        if let reason {
            let error = #expect(throws: PusherServerAPIError.self) { try read() }
            #expect(error?.code == .invalidWebhook)
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        } else {
            _ = try read()
        }
    }

    @Test("without a maximum age, the library accepts a webhook of any age")
    func ageless() throws {
        let (api, _) = try OfflineAPI.make(unixTime: Self.webhookTime + 31_536_000) { $0.webhookMaximumAge = nil }
        _ = try api.webhook(body: Self.webhookBody.utf8, key: Self.key, signature: Self.webhookSignature)
    }
}
