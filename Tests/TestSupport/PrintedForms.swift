import Foundation

package enum PrintedForms {
    /// Every form in which a program prints a value.
    package static func of(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        var forms = ["\(value)", String(reflecting: value), dumped]
        guard let error = value as? any Error else { return forms }
        let bridged = error as NSError
        forms += [error.localizedDescription, "\(bridged)", bridged.debugDescription, "\(bridged.userInfo)"]
        return forms
    }
}
