// The public types of other targets: errors, states and statistics, options of TLS, the proxy, retries and decoding.
@_exported public import PusherCore
@_exported public import PusherProtocol
@_exported public import RealtimePrimitives

@_exported public import struct RealtimeJSON.JSONDecodingOptions
@_exported public import enum RealtimeNetworking.HTTPProxy
@_exported public import struct RealtimeNetworking.TLSFailure
@_exported public import struct RealtimeNetworking.TLSOptions
