// The public types of other targets: errors, states and statistics, options of TLS, the proxy and retries.
@_exported public import PusherCore
@_exported public import RealtimeNetworking
@_exported public import RealtimePrimitives
@_exported public import struct PusherProtocol.TestServerAccess
