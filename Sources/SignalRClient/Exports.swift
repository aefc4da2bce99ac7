// Programs written for Microsoft's client use `TimeInterval`, `Data` and `Date` without importing Foundation.
@_exported public import Foundation
@_exported public import SignalRCore

@_exported public import struct RealtimeJSON.JSONDecodingOptions
@_exported public import enum RealtimeNetworking.HTTPProxy
@_exported public import struct RealtimeNetworking.TLSOptions
