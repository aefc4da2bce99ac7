#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The number of files and sockets that a process may have open.
public enum OpenFiles {
    /// Sets the soft limit to 20,000, or to the hard limit if that is smaller.
    public static func raiseLimit() {
        var limit = rlimit()
        #if canImport(Darwin)
            let resource = RLIMIT_NOFILE
        #else
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        getrlimit(resource, &limit)
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 20_000))
        setrlimit(resource, &limit)
    }
}
