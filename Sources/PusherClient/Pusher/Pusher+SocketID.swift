#if canImport(FoundationNetworking)
    public import FoundationNetworking
#else
    public import Foundation
#endif

extension URLRequest {
    /// Tells your backend which connection this is, in the header field `X-Socket-ID`, so that it can leave the
    /// connection out when it publishes what the request brings about (protocol clause 8).
    ///
    /// ```swift
    /// var request = URLRequest(url: url)
    /// request.setSocketID(of: pusher)
    /// ```
    /// Where there is no connection the field is removed: nothing would come to it. To wait for one, use
    /// ``Pusher/connected()``.
    public mutating func setSocketID(of pusher: Pusher) {
        setValue(pusher.connection.socketId, forHTTPHeaderField: "X-Socket-ID")
    }
}
