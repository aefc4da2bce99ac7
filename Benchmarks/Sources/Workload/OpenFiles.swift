#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The number of sockets that a process may have.
public enum OpenFiles {
    /// Raises the soft limit to the hard limit.
    public static func raiseLimit() {
        var limit = rlimit()
        #if canImport(Darwin)
            let resource = RLIMIT_NOFILE
        #else
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        getrlimit(resource, &limit)
        limit.rlim_cur = min(limit.rlim_max, 20_000)
        setrlimit(resource, &limit)
    }
}
