import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// How many sockets the process may have.
enum OpenFiles {
    /// Raises the soft limit as far as the hard one allows.
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
