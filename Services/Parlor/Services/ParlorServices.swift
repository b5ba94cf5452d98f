import CServiceNames
import ServiceKit

/// Parlor's services, in the order in which they start: those of the table `services` in Package.swift.
public enum ParlorServices {
    public static let all: [any Service.Type] = String(cString: parlor_services()).split(separator: " ").map(type(in:))

    /// Returns the type `NAMEService` of the module NAME.
    ///
    /// Nothing in Swift names all modules that a target depends on, so the type is looked up by its mangled name: a
    /// public struct's is the same in every build (docs/ABI/Mangling.rst of the Swift project).
    private static func type(in module: Substring) -> any Service.Type {
        let name = "\(module)Service"
        let mangled = "\(module.utf8.count)\(module)\(name.utf8.count)\(name)V"
        guard let service = _typeByName(mangled) as? any Service.Type else {
            fatalError("Package.swift lists the service \(module), but it has no public struct \(name): Service")
        }
        let expected = module.lowercased()
        precondition(service.name == expected, "\(name).name has to be \"\(expected)\", not \"\(service.name)\"")
        return service
    }
}
