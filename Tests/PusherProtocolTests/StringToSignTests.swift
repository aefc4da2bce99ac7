import PusherEncryption
import PusherProtocol
import TestTraits
import Testing

/// Compares signatures with examples in the documentation of Pusher Channels and in its server libraries. All examples
/// use the same secret.
@Suite("Strings to sign", .limited)
struct StringToSignTests {
    private func signature(of text: String) -> String {
        HMACSHA256.hexadecimal(text, secret: "7ad3773142a6692b25b8")
    }

    @Test(
        "Channels",
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
    func channels(channel: String, channelData: String?, expected: String) {
        let text = StringToSign.channel(socketID: "1234.1234", channel: channel, channelData: channelData)
        #expect(signature(of: text) == expected)
    }

    @Test(
        "Users",
        arguments: [
            (#"{"id":"12345"}"#, "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"),
            (
                #"{"id":"1","user_info":{"name":"Zoë"},"watchlist":["2","3"]}"#,
                "31a12919d25cfe278f8689d93abbcf79a1f40fe4996b9789a1f1a4d3529637e3"
            ),
        ]
    )
    func users(userData: String, expected: String) {
        #expect(signature(of: StringToSign.user(socketID: "1234.1234", userData: userData)) == expected)
    }

    @Test(
        "REST requests",
        arguments: [
            (
                "POST", "/apps/3/events", ["body_md5": "ec365a775a4cd0599faeb73354201b6f"],
                "da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c"
            ),
            (
                "GET", "/apps/3/channels", ["filter_by_prefix": "presence-", "info": "user_count"],
                "16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291"
            ),
            (
                "POST", "/apps/3/batch_events", ["body_md5": "8961412d0c7bb007f31ba05a97d68f70"],
                "a81cd18dc56b7b9b8f547953b0820cf231b3d795f41cbac8805e4106b9e959cc"
            ),
            (
                "POST", "/apps/3/users/u1/terminate_connections", ["body_md5": "99914b932bd37a50b983c5e7c90ae93b"],
                "61efad5e9fe693a686a71ff197d9770bd2c257d87ce961f4efda2dae952c4345"
            ),
        ] as [(String, String, [String: String], String)]
    )
    func restRequests(method: String, path: String, own: [String: String], expected: String) {
        let common = [
            "auth_version": "1.0", "auth_timestamp": "1353088179", "auth_key": "278d425bdf160c739803",
        ]
        // The parameters are unsorted, because the signature must sort them.
        let parameters = common.merging(own) { common, _ in common }.map { (name: $0.key, value: $0.value) }
        let text = StringToSign.restRequest(method: method, path: path, parameters: parameters)
        #expect(signature(of: text) == expected)
    }

    @Test("the string to sign has REST parameters in the order of their lowercase names, and unchanged values")
    func restParameters() {
        let text = StringToSign.restRequest(
            method: "get",
            path: "/apps/1/channels",
            parameters: [("b", "B&="), ("Auth_Key", "K"), ("a", "ä %")]
        )
        #expect(text == "GET\n/apps/1/channels\na=ä %&auth_key=K&b=B&=")
    }
}
