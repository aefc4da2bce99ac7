import PusherTestServer

/// The constants of an app: the server's address and the app's keys.
struct Settings {
    let host: String
    let port: Int
    let key: String
    let secret: String
    let authEndpoint: String

    init(_ server: PusherTestServer) {
        host = server.host
        port = server.port
        key = server.options.application.key
        secret = server.options.application.secret
        authEndpoint = server.url + "/pusher/auth"
    }
}
