/// The name of a cluster of the hosted service, such as `eu`.
package enum ClusterName {
    /// Returns the cluster in a host name of the hosted service, such as `ws-eu.pusher.com`; nil for other hosts.
    ///
    /// - Parameter prefix: The beginning of the host name, such as `ws-`.
    package static func cluster(ofHost host: String, prefix: String) -> String? {
        let suffix = ".pusher.com"
        guard host.hasPrefix(prefix), host.hasSuffix(suffix) else { return nil }
        return String(host.dropFirst(prefix.count).dropLast(suffix.count))
    }

    /// Returns the message of an error if the name is empty or contains a dot, as the names of hosts do; nil for other
    /// names.
    package static func fault(of cluster: String) -> String? {
        guard cluster.isEmpty || cluster.contains(".") else { return nil }
        let shown = String(reflecting: String(cluster.prefix(100)))
        return """
            Invalid cluster \(shown): \(cluster.isEmpty ? "it is empty" : "a cluster has no dot"). Use the \
            name in your app's settings, for example "eu". For a server of your own, use a host instead.
            """
    }
}
