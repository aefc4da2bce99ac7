import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// The limit on the open sockets of the process.
enum OpenFiles {
    /// Raises the soft limit to the hard limit, but at most to 20,000.
    static func raiseLimit() {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        getrlimit(resource, &limit)
        limit.rlim_cur = min(limit.rlim_max, 20_000)
        setrlimit(resource, &limit)
    }
}
