/// Joins a page's modules into one script without their comments, so that a first visit loads one small file instead of
/// dozens.
///
/// Each module becomes a function that returns its exports. It stands after the modules that it imports. Joining
/// supports only what `Clients/Web` uses: one import or export a line, with names in braces or a default, no exported
/// `let`, comments on lines of their own, and texts within a line. With any other form there is no bundle, and browsers
/// load the modules one by one.
struct WebBundle {
    /// A module that has been added to the text.
    private struct Module {
        /// The variable with its exports.
        let variable: String
        let exports: Set<String>
    }

    private let sources: [String: [UInt8]]
    private var text = ""
    /// The modules by path; nil while a module's imports are being added.
    private var modules: [String: Module?] = [:]
    private var count = 0

    private enum Failure: Error { case unknownForm }

    /// - Parameters:
    ///   - entry: the module that the page starts with.
    ///   - sources: the files by their paths.
    static func join(from entry: String, _ sources: [String: [UInt8]]) -> [UInt8]? {
        var bundle = WebBundle(sources: sources)
        guard (try? bundle.add(entry)) != nil else { return nil }
        return Array(bundle.text.utf8)
    }

    private init(sources: [String: [UInt8]]) { self.sources = sources }

    private mutating func add(_ path: String) throws(Failure) -> Module {
        if let known = modules[path] {
            // Modules that import each other cannot be ordered.
            guard let known else { throw .unknownForm }
            return known
        }
        guard let source = sources[path] else { throw .unknownForm }
        modules[path] = .some(nil)
        var body = ""
        var exports: [String: String] = [:]
        for line in try Self.code(in: source) {
            if line.hasPrefix("import ") {
                let (clause, module) = try take(line.dropFirst("import ".count), into: path)
                body += "const \(clause) = \(module.variable);"
            } else if line.hasPrefix("export {"), line.contains(" from ") {
                let line = line.dropFirst("export ".count)
                let (_, module) = try take(line, into: path)
                for name in try Self.names(in: Self.parts(of: line).clause) {
                    exports[name] = "\(module.variable).\(name)"
                }
            } else if line.hasPrefix("export {"), line.hasSuffix("};") {
                for name in try Self.names(in: line.dropFirst("export ".count).dropLast()) { exports[name] = name }
            } else if line.hasPrefix("export default ") {
                exports["default"] = "$default"
                body += "const $default = \(line.dropFirst("export default ".count))"
            } else if line.hasPrefix("export ") {
                let declaration = line.dropFirst("export ".count)
                let name = try Self.name(declaredBy: declaration)
                exports[name] = name
                body += declaration
            } else {
                body += line
            }
            body += "\n"
        }
        count += 1
        let module = Module(variable: "$\(count)", exports: Set(exports.keys))
        modules[path] = module
        let returned = exports.sorted { $0.key < $1.key }.map { $0 == $1 ? $0 : "\($0): \($1)" }
        text += "// \(path)\nconst \(module.variable) = (() => {\n\(body)"
        text += "return { \(returned.joined(separator: ", ")) };\n})();\n"
        return module
    }

    /// Returns the lines with code.
    private static func code(in source: [UInt8]) throws(Failure) -> [Substring] {
        var lines: [Substring] = []
        var isComment = false
        for line in String(decoding: source, as: UTF8.self).split(separator: "\n") {
            let code = line.drop { $0 == " " }
            if isComment || code.hasPrefix("/*") {
                isComment = !line.hasSuffix("*/")
                // Code behind a comment would be lost.
                guard isComment == !line.contains("*/") else { throw .unknownForm }
            } else if !code.isEmpty, !code.hasPrefix("//") {
                lines.append(line)
            }
        }
        guard !isComment else { throw .unknownForm }
        return lines
    }

    /// Adds the module that `CLAUSE from "MODULE";` names.
    ///
    /// - Returns: the pattern for the constant, and the module.
    /// - Throws: `unknownForm` if the module does not export each name in the pattern. A declaration with
    ///   several names counts as an export of the first only.
    private mutating func take(
        _ text: Substring, into path: String
    ) throws(Failure) -> (pattern: String, module: Module) {
        let (clause, name) = try Self.parts(of: text)
        let module = try add(Self.resolve(name, from: path))
        if clause.hasPrefix("{") {
            let names = try Self.names(in: clause)
            guard module.exports.isSuperset(of: names) else { throw .unknownForm }
            return ("{ \(names.joined(separator: ", ")) }", module)
        }
        guard Self.isName(clause), module.exports.contains("default") else { throw .unknownForm }
        return ("{ default: \(clause) }", module)
    }

    /// Splits `CLAUSE from "MODULE";`.
    private static func parts(of text: Substring) throws(Failure) -> (clause: Substring, module: Substring) {
        guard let from = text.firstRange(of: " from \""), text.hasSuffix("\";") else { throw .unknownForm }
        return (text[..<from.lowerBound], text[from.upperBound...].dropLast(2))
    }

    private static func names(in braces: Substring) throws(Failure) -> [String] {
        guard braces.hasPrefix("{"), braces.hasSuffix("}") else { throw .unknownForm }
        let names = braces.dropFirst().dropLast().split(separator: ",").map(trimmed)
        guard names.allSatisfy({ isName($0[...]) }) else { throw .unknownForm }
        return names
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " }
        return String(start.reversed().drop { $0 == " " }.reversed())
    }

    /// Returns the name of an exported declaration. A `let` is not supported, as importers would have to see
    /// it change.
    private static func name(declaredBy text: Substring) throws(Failure) -> String {
        for keyword in ["function ", "async function ", "class ", "const "] where text.hasPrefix(keyword) {
            let name = text.dropFirst(keyword.count).prefix { isNameCharacter($0) }
            if !name.isEmpty { return String(name) }
        }
        throw .unknownForm
    }

    private static func isName(_ text: Substring) -> Bool { !text.isEmpty && text.allSatisfy(isNameCharacter) }

    private static func isNameCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "_" || character == "$")
    }

    /// Returns `./x.js` or `../folder/x.js` as a path from the page's folder.
    private static func resolve(_ module: Substring, from path: String) -> String {
        var folders = path.split(separator: "/").dropLast()
        for part in module.split(separator: "/") where part != "." {
            if part == ".." { _ = folders.popLast() } else { folders.append(part) }
        }
        return folders.joined(separator: "/")
    }
}
