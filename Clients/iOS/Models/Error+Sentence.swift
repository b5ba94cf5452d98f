import Foundation
import ParlorClient

extension Error {
    /// A sentence for a person, in the app's language: the catalogue's text for the error's code, or else the library's
    /// or the server's, which are English.
    var sentence: String {
        let code = (self as? ClientFailure)?.code ?? (self as? SendFailure)?.code
        guard let code else { return localizedDescription }
        return Bundle.main.localizedString(forKey: "error.\(code)", value: localizedDescription, table: nil)
    }
}
