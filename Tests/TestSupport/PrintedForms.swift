import Foundation
import NIOCore

package enum PrintedForms {
    /// Returns the forms in which programs print a value.
    package static func of(_ value: Any) -> [String] {
        var dump = Dump()
        dump.add(value)
        var forms = ["\(value)", String(reflecting: value), dump.text]
        guard let error = value as? any Error else { return forms }
        let bridged = error as NSError
        forms += [error.localizedDescription, "\(bridged)", bridged.debugDescription, "\(bridged.userInfo)"]
        return forms
    }
}

/// A text like the output of `dump`, without the contents of event loops. In debug builds, other threads change these
/// contents.
private struct Dump {
    var text = ""
    private var visited: Set<ObjectIdentifier> = []

    mutating func add(_ value: Any) {
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .class {
            guard visited.insert(ObjectIdentifier(value as AnyObject)).inserted else { return }
        }
        switch (mirror.displayStyle, value) {
        case (.collection, _), (.dictionary, _), (.set, _), (.optional, _), (.tuple, _):
            text += "\(mirror.children.count)\n"
        case (_, let value as any CustomDebugStringConvertible): text += "\(value.debugDescription)\n"
        case (_, let value as any CustomStringConvertible): text += "\(value.description)\n"
        default: text += "\(mirror.children.isEmpty ? "\(value)" : "\(mirror.subjectType)")\n"
        }
        guard !(value is any EventLoop) else { return }
        var next: Mirror? = mirror
        while let mirror = next {
            for (label, child) in mirror.children {
                text += label.map { "\($0): " } ?? ""
                add(child)
            }
            next = mirror.superclassMirror
        }
    }
}
