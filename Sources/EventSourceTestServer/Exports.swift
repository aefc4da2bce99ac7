@_exported public import struct RealtimeNetworking.HTTPHeader
@_exported public import struct RealtimeNetworking.HTTPHeaderFields
