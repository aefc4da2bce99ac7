// Types of other modules that apps use with the client: options of TLS, the proxy and retries, and header fields.
@_exported public import RealtimeNetworking
@_exported public import RealtimePrimitives
