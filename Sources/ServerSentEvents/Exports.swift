// Types of other modules that apps use with the client: options of TLS, the proxy, retries and decoding,
// and header fields.
@_exported public import RealtimeNetworking
@_exported public import RealtimePrimitives

@_exported public import struct RealtimeJSON.JSONDecodingOptions
