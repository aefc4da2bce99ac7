// Export these modules, because the options use their types for TLS, the proxy and retries.
@_exported public import RealtimeNetworking
@_exported public import RealtimePrimitives
