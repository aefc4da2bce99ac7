// What users of the library see of the other targets: options of TLS, the proxy and retries.
@_exported public import RealtimeNetworking
@_exported public import RealtimePrimitives
