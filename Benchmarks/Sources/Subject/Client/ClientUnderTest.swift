import Foundation
import PusherClient
import SodiumReference
import Workload

/// The client, in the same build and with the same API as in apps.
enum ClientUnderTest {
    static func make(
        _ target: Target,
        _ workload: Workload,
        callbackQueue: PusherClientOptions.CallbackQueue = .eventLoop,
        authMethod: AuthMethod? = nil,
        limits: PusherClientOptions.Limits = .init(),
        transports: PusherTransports = .webSocket
    ) -> Pusher {
        let options = PusherClientOptions(
            endpoint: PusherEndpoint(
                host: target.host,
                port: target.port,
                path: workload.path,
                useTLS: target.useTLS,
                http: .init(host: target.host, port: target.port, path: workload.path)
            )
        )
        options.authMethod = authMethod ?? fixedAuthorization
        // The generator never answers subscriptions that request more events.
        options.timeouts.subscription = .seconds(3_600)
        options.retryPolicy = .delays([.zero])
        options.tls.certificateVerification = .insecurelyTrustAnyCertificate
        options.transports = transports
        options.limits = limits
        options.callbackQueue = callbackQueue
        options.logLevel = .silent
        return Pusher(key: "app-key", options: options)
    }

    /// An authorization that is the same for every channel, because the generator does not check it.
    private static var fixedAuthorization: AuthMethod {
        let sharedSecret = Data(SealedBytes.key).base64EncodedString()
        return .authorizer { request in
            PusherAuth(
                auth: "app-key:0123456789abcdef",
                channelData: request.channelName.hasPrefix("presence-") ? #"{"user_id":"me"}"# : nil,
                sharedSecret: request.channelName.hasPrefix("private-encrypted-") ? sharedSecret : nil
            )
        }
    }
}

/// Keeps the optimizer from removing work whose result is not used.
@inline(never)
func use(_ value: Int) {}
