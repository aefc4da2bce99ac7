// What users of the client see of the other targets: options of TLS, the proxy and retries, and header fields.
@_exported public import RealtimeNetworking
@_exported public import RealtimePrimitives
