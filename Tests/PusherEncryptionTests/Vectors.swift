/// Test vectors from other implementations: codes of Python's `hmac`, and boxes of `tweetnacl`.
enum Vectors {
    struct Signature: Sendable {
        var secret: String
        var text: String
        var code: String
    }

    struct SharedSecret: Sendable {
        var masterKey: String
        var channel: String
        var key: String
    }

    struct Box: Sendable {
        var key: String
        var plaintext: String
        var nonce: String
        var ciphertext: String
    }

    static let signatures: [Signature] = [
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234:private-foobar"#,
            code: "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234:private-encrypted-foobar"#,
            code: "e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234:private-cache-foobar"#,
            code: "395f4a03f06e17b74af8d9c58386cf386e70176f58452420f042b6e1bddefa43"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234:private-encrypted-cache-foobar"#,
            code: "b9b56ee68b2117189dbac324760a1f9958070108e3ef45232e5dcbba37dbb831"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234:presence-foobar:{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#,
            code: "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234:presence-foobar:{"user_id":10,"user_info":{"name":"Mr. Pusher"}}"#,
            code: "afaed3695da2ffd16931f457e338e6c9f2921fa133ce7dac49f529792be6304c"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234:presence-foobar:{"user_id":"11","user_info":{"name":"Zoë 🚀"}}"#,
            code: "973b1c866295670a657c2c09aef1c6d2a1830b19fd8f2c833fa195dbf028b3c0"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234:presence-cache-foobar:{"user_id":"11"}"#,
            code: "204443b563da58bf9b5c758d2c167d60597de54dfb93f10cea43909e97c8cbe3"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234::user::{"id":"12345"}"#,
            code: "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"1234.1234::user::{"id":"1","user_info":{"name":"Zoë"},"watchlist":["2","3"]}"#,
            code: "31a12919d25cfe278f8689d93abbcf79a1f40fe4996b9789a1f1a4d3529637e3"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text:
                #"POST\#n/apps/3/events\#nauth_key=278d425bdf160c739803&auth_timestamp=1353088179&auth_version=1.0&body_md5=ec365a775a4cd0599faeb73354201b6f"#,
            code: "da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text:
                #"GET\#n/apps/3/channels\#nauth_key=278d425bdf160c739803&auth_timestamp=1353088179&auth_version=1.0&filter_by_prefix=presence-&info=user_count"#,
            code: "16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text:
                #"POST\#n/apps/3/batch_events\#nauth_key=278d425bdf160c739803&auth_timestamp=1353088179&auth_version=1.0&body_md5=8961412d0c7bb007f31ba05a97d68f70"#,
            code: "a81cd18dc56b7b9b8f547953b0820cf231b3d795f41cbac8805e4106b9e959cc"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text:
                #"POST\#n/apps/3/users/u1/terminate_connections\#nauth_key=278d425bdf160c739803&auth_timestamp=1353088179&auth_version=1.0&body_md5=99914b932bd37a50b983c5e7c90ae93b"#,
            code: "61efad5e9fe693a686a71ff197d9770bd2c257d87ce961f4efda2dae952c4345"
        ),
        Signature(
            secret: "7ad3773142a6692b25b8",
            text: #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#,
            code: "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf"
        ),
        Signature(
            secret: "secret",
            text: #"45481.3166671:private-channel"#,
            code: "6aae8814fabd5285245422096705abbed64ea59614648814ffb0bf2dc5d19168"
        ),
        Signature(
            secret: "secret",
            text: #"45481.3166671:private-test-channel"#,
            code: "0d0d2e7c2cd967246d808180ef0f115dad51979e48cac9ad203928141f9e6a6f"
        ),
        Signature(
            secret: "secret",
            text: #"45481.3166671:presence-channel:{"user_id":"45481.3166671"}"#,
            code: "5ce61ee2b8594e22b66323913d7c7af9d8e815659365be3627733993f4ce3824"
        ),
        Signature(
            secret: "secret",
            text: #"45481.3166671:presence-channel:{"user_id":"123"}"#,
            code: "c2b53f001321bc088814f210fb63c259b464f590890eee2dde6387ea9b469a30"
        ),
        Signature(
            secret: "secret",
            text: #"45481.3166671:presence-channel:{"user_id":"123","user_info":{"friends":0}}"#,
            code: "80cfefb0ef08fb55353dbbc0480e6160059fac14fce862e9ed1f0121ae8a440f"
        ),
        Signature(
            secret: "superSecretSecret",
            text: #"45481.3166671:private-channel"#,
            code: "e1d0947a10d6ff1a25990798910b2505687bb096e3e8b6c97eef02c6b1abb4c7"
        ),
        Signature(
            secret: "mysecret",
            text: #"{"user":"my user data"}"#,
            code: "7705bb9a7934fe4ceee2325e23750f35752899448c2fe5b064d93326c98fd5b3"
        ),
        Signature(
            secret: "",
            text: #"{"user":"my user data"}"#,
            code: "a31926f3c0e20c8fd6174ac08c0057708590b6a6bb081a04560ea60b4500738a"
        ),
        Signature(
            secret: "mysecret",
            text: #""#,
            code: "9074a74de0f34ece3f046403ae88d2eea400281da0ed6ebfa76c949016fa672d"
        ),
        Signature(
            secret: String(repeating: "k", count: 64),
            text: "text",
            code: "0414bb1d8c0c4556cdb2028727b16610ae377b1a194b6db1f853d4297f2329bc"
        ),
        Signature(
            secret: String(repeating: "k", count: 65),
            text: "text",
            code: "5b69580123e3d7e788b7e8352ac37a3247b911c5ec0837147b74109a6382d3f5"
        ),
        Signature(
            secret: String(repeating: "k", count: 200),
            text: "text",
            code: "0213fa56a4d26fac09aee9ef2a6faf1f38dfce0d3c4238d63981b8af5d6228ba"
        ),
    ]

    static let sharedSecrets: [SharedSecret] = [
        SharedSecret(
            masterKey: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            channel: "private-encrypted-foobar",
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY="
        ),
        SharedSecret(
            masterKey: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            channel: "private-encrypted-cache-foobar",
            key: "ZIyrVD+0Bk6W0N6MalhVZjcRCf/fF2zNDPkN9Kb3hoA="
        ),
    ]

    static let boxes: [Box] = [
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: #""#,
            nonce: "ZI+OGToGwwdn5x+zKkqyq+4txkDalngr",
            ciphertext: "/+9CUKH83O+umIA1ORmfMg=="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: #"{}"#,
            nonce: "CngAlZFyLMhIJcqV7n/6UkKAR+0SyQdg",
            ciphertext: "Ki12mygJvuLeFQINcH5d1gLX"
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: #""a string""#,
            nonce: "Ym4eO2k1xmosirnIT8PdVSJTCQxukfWU",
            ciphertext: "xTa4yRJTJ5gBk79dmVHpVKw1vGBkVcyTmmM="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: #"{"hello":"world"}"#,
            nonce: "D1+SRQCk1wO5pIAwbi+qbLqQApXloRRL",
            ciphertext: "aPiqEfP50DjumRFE9IIY7tuyGzVo0BoRb5a9P6GFZvTW"
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: #"not json"#,
            nonce: "aXAEE4EGm/6wWYQhWNW3eURYFrtuuQpf",
            ciphertext: "H8SxzO7lby/bGYE5Qqkijo8WWeoZ5fCH"
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: #"{"name":"Zoë 🚀"}"#,
            nonce: "CpnN9SRP8Wpz9Npic6jj0nKPQzqj/q84",
            ciphertext: "/jqZPaU8bv97VUuqvDQo6qSMxmONwahv5oWUF5MUgchcCG+U"
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 15),
            nonce: "XfTpYB+CzjF9u9iu55nztKNqKtUiynHl",
            ciphertext: "gStmitDiyozZpj2CefPzgGfh3pTHTOJjjAvaMkKanw=="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 16),
            nonce: "5PhdyLZTnKcJ3VGKb6C8pLILrI8ud2Qd",
            ciphertext: "UK9XrsPncjhcC4KaDqG2cyeWrKC2tlZhLfFUDbDjlJ0="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 31),
            nonce: "XFw9tXjdWrqFLnckMqTeNVmsws+QW1tU",
            ciphertext: "YmvfAzOMt/HgqfjSLD/00CvvgZhpMev5qJzfgM75YOPkKRUWY08EGiuASn9p8vs="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 32),
            nonce: "9S4yoDRnHxayQA3mjfOj9E04MvU+KzMn",
            ciphertext: "L+BQPG7GY9TvG8KS9frey5hOyslfYqELme9WolC3ytpl9BHBPtr+gBWhRa+gNhj4"
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 33),
            nonce: "WB99RfOo9HcPH9Y/MyJOjvWTj748swj8",
            ciphertext: "JUWynYI030JZUzEtDcx8eIq4DnucBZx6+3BdU0msCWdIwpeGWoC/VMsE3IknaPBjtA=="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 63),
            nonce: "YpUcCCW0htvXz5JICLyoR9gDopyzwI4d",
            ciphertext: "4dXp1rt/4wJv588PUt5S0LNGwYB2dBiYSKXeq3zojKWm5Q7c2cOiE3ihcGVUScQSXt1hgdECkUUUG+pphk9CVKyr"
                + "Ap7twt/BLxa2BPuYBA=="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 64),
            nonce: "mCmUDUrzodI3Ar+FEUvCJ0zPO8TR3mwI",
            ciphertext: "fJefJ6fjQepO1Cp0rMdIttakhrTCGLQeLLUeb/JnMcEL8Bj2DjpP4TOQkypYZ4w8yApVaUsIMK/QmigXF1dB7isb"
                + "b+cCnAY9AKe9NuT26e4="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 65),
            nonce: "FQdR7NPiBephit3nVLrxr6NZUVYLu1Nq",
            ciphertext: "QWxrTR1p21hs0fwnmQ57Q9amjn5KXmDxh6i26mDwSdWewGkkkZBr/wkW4BxJYKjwL2y5f9vipmNW34pDoKUWWKB5"
                + "W2TgSqJs5QNWCTOnIrsR"
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 96),
            nonce: "BwDdogEEPOznpojtzBSPX0qj3J+ocGbW",
            ciphertext: "pIiUWb9D4eJNF6n/j/HB4z5LUrYQ/8taEu1I8UNY2Fj01l27jJc5sRfNuZhT9qtOOZh3+arQAbK3EuzLJjQQXFAl"
                + "jqFwd9NV1mMbYaOJI5SjZkRF+AWcEl0gr4xBpsTCA8PVSNeP5Ei+bIerZgOhag=="
        ),
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: String(repeating: "x", count: 97),
            nonce: "Xkf7+EnX/xwQ2TmTPZLjncXByKL7sixV",
            ciphertext: "4HATch0Wsnq0+CPIlNyaPEPq6EcCkDLkoPUHAaWb9cMOoIJDqHTm9nhVCxgwi3K6x1gPNa9M35npfY6Toru5U7Xn"
                + "aP+kPGo3eVTDwjvZ1CCQJ7fH9FsYgoLTNNQwgBEeBNLZnVempb6L9s/Yl1UJC+4="
        ),
        Box(
            key: "iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb+z5doo=",
            plaintext: #"{"message":"hello world"}"#,
            nonce: "4sVYwy4j/8dCcjyxtPCWyk19GaaViaW9",
            ciphertext: "/GMESnFGlbNn01BuBjp31XYa3i9vZsGKR8fgR9EDhXKx3lzGiUD501A="
        ),
        Box(
            key: "EOWC/ked3NtBDvEs9gFwk7x4oZEbH9I0Lz2qkopBxxs=",
            plaintext: #"{"name":"freddy","message":"hello"}"#,
            nonce: "Ew2lLeGzSefk8fyVPbwL1yV+8HMyIBrm",
            ciphertext: "ig9HfL7OKJ9TL97WFRG0xpuk9w0DXUJhLQlQbGf+ID9S3h15vb/fgDfsnsGxQNQDxw+i"
        ),
    ]

    /// A box that is too long for this file. Its text is a repeated character, and its bytes are identified by their
    /// SHA-256.
    struct LongBox: Sendable {
        var key: String
        var character: Character
        var count: Int
        var nonce: String
        var sha256: String
    }

    static let longBoxes: [LongBox] = [
        LongBox(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            character: "y",
            count: 10240,
            nonce: "oU8sROyj/BP2gB+C7RtpuP0yjAguFM3U",
            sha256: "5cecd7729c87cced5c37dd3197b1f8e4a7154dcb79d86d301b4c632cc85685de"
        ),
        LongBox(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            character: "x",
            count: 1000,
            nonce: "bmAamxNNfTBMO9MqjKey1GOJ6DzR21WR",
            sha256: "c02da49bf981d15c951f16cbe118b5745fff6c34614a67829e993491ea1972e6"
        ),
    ]

    /// Boxes that the key does not open.
    static let unopenable: [Box] = [
        Box(
            key: "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY=",
            plaintext: "",
            nonce: "oU8sROyj/BP2gB+C7RtpuP0yjAguFM3U",
            ciphertext: "aSDWWPXaOeRa8Non9drHJcToXs3P4pbhp6xPQJCK8FSX"
        ),
        Box(
            key: "iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb+z5do0=",
            plaintext: "",
            nonce: "4sVYwy4j/8dCcjyxtPCWyk19GaaViaW9",
            ciphertext: "/GMESnFGlbNn01BuBjp31XYa3i9vZsGKR8fgR9EDhXKx3lzGiUD501A="
        ),
        Box(
            key: "EOWC/ked3NtBDvEs9gFwk7x4oZEbH9I0Lz2qkopBxxs=",
            plaintext: "",
            nonce: "7w2hU5r5VMj3PGXXepgP6E/KgPob5o6t",
            ciphertext: "FX0lJZu33f0dWPb89816ngn0l9NfJC5mFny6EQF6z25K+Ly5LFS9hP7XAC6s5pUoZqGXzC03FA=="
        ),
        Box(
            key: "EOWC/ked3NtBDvEs9gFwk7x4oZEbH9I0Lz2qkopBxxs=",
            plaintext: "",
            nonce: "00000000000000000000000000000000",
            ciphertext: "ig9HfL7OKJ9TL97WFRG0xpuk9w0DXUJhLQlQbGf+ID9S3h15vb/fgDfsnsGxQNQDxw+i"
        ),
        Box(
            key: "EOWC/ked3NtBDvEs9gFwk7x4oZEbH9I0Lz2qkopBxxs=",
            plaintext: "",
            nonce: "Ew2lLeGzSefk8fyVPbwL1yV+8HMyIBrm",
            ciphertext: "00000000000000000000000000000000000000000000000000000000000000000000"
        ),
    ]
}
