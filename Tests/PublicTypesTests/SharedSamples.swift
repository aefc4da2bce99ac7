import RealtimeJSON
import RealtimeNetworking

/// Values of the types that several libraries share.
enum SharedSamples {
    static let credentials = HTTPProxy.Credentials(username: "ada", password: "hush")
    static let proxy = HTTPProxy.server(host: "proxy.test", port: 1, credentials: credentials)
    static let certificate = TLSOptions.ClientCertificate(certificateChain: "chain", privateKey: "hush")
    static let tls = TLSOptions(trustRoots: .only(pem: "root"), clientCertificate: certificate)

    static var all: [Any] {
        let decoding = JSONDecodingOptions()
        return [
            credentials, proxy, certificate, tls, tls.trustRoots, TLSFailure(.other, "The handshake failed."),
            decoding, decoding.keys, decoding.dates,
        ]
    }
}
