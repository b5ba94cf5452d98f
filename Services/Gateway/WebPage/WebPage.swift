import ParlorHTTP
import ParlorSecurity
import Synchronization

/// The web client: `GET /`, and its files.
///
/// Their addresses, `/web/VERSION/FILE`, contain a digest of all of them, so browsers keep them permanently. The
/// page at `/`, which is revalidated each time, links to a new release's files at once. During a rollout, a page
/// of one release may request its files from the gateway of the other: it gets the files of that gateway's
/// release, without permanent caching. The files are read and compressed at the first request.
package final class WebPage: Sendable {
    private struct Files {
        var version = ""
        var page: WebFile?
        /// The other files, by their path in the folder.
        var named: [String: WebFile] = [:]
    }

    private enum State {
        case unread
        case reading([CheckedContinuation<Files, Never>])
        case read(Files)
    }

    private static let folder = "/web/"
    private static let versionLength = 16
    private static let entry = "page/main.js"
    /// The path of the bundle, in the entry's folder, so that relative names resolve.
    private static let bundle = "page/bundle.js"

    private let source: WebFolder
    private let executor: any TaskExecutor
    private let state = Mutex(State.unread)

    private init(_ source: WebFolder, on executor: any TaskExecutor) {
        (self.source, self.executor) = (source, executor)
    }

    /// Finds the page.
    ///
    /// - Parameter executor: reads the files, which blocks, so it must not be a loop.
    /// - Returns: nil if the page is neither installed with the executable nor in the checkout that it was
    ///   built in.
    package static func find(readingOn executor: any TaskExecutor) -> WebPage? {
        WebFolder.executable.flatMap(WebFolder.find).map { WebPage($0, on: executor) }
    }

    /// The folder in which an installed page would be; nil if /proc is not mounted.
    package static var installedFolder: String? { WebFolder.executable.map(WebFolder.installed) }

    /// Creates the page from the files of a folder.
    convenience init(in path: String, readingOn executor: any TaskExecutor) {
        self.init(WebFolder(path: path), on: executor)
    }

    /// Returns true if the address belongs to the page, whether the file exists or not.
    package func serves(_ path: String) -> Bool { path == "/" || path.hasPrefix(Self.folder) }

    /// Returns the page, or one of its files.
    ///
    /// - Returns: nil if there is no such file.
    package func response(to request: HTTPRequest) async -> HTTPResponse? {
        let files = await files()
        if request.path == "/" { return files.page?.response(to: request.headers) }
        guard request.path.hasPrefix(Self.folder) else { return nil }
        let rest = request.path.dropFirst(Self.folder.count)
        guard let slash = rest.firstIndex(of: "/"), let file = files.named[String(rest[rest.index(after: slash)...])]
        else { return nil }
        let version = rest[..<slash]
        if version == files.version { return file.response(to: request.headers) }
        guard version.utf8.count == Self.versionLength else { return nil }
        return file.response(to: request.headers, caching: .ask)
    }

    private func files() async -> Files {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                switch state {
                case .unread:
                    state = .reading([continuation])
                    return true
                case .reading(let waiting):
                    state = .reading(waiting + [continuation])
                    return false
                case .read(let files):
                    continuation.resume(returning: files)
                    return false
                }
            }
            if isFirst { Task(executorPreference: executor) { [self] in finish(read()) } }
        }
    }

    private func finish(_ files: Files) {
        let waiting = state.withLock { state in
            guard case .reading(let waiting) = state else { preconditionFailure("only a reading finishes") }
            // A file that cannot be read now may be readable at the next request.
            state = files.page == nil ? .unread : .read(files)
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: files) }
    }

    private func read() -> Files {
        guard var sources = source.files() else { return Files() }
        var digest: [UInt8] = []
        for (name, bytes) in sources.sorted(by: { $0.key < $1.key }) {
            digest += SHA256.hash(Array(name.utf8)) + SHA256.hash(bytes)
        }
        let version = String(Base64URL.encode(SHA256.hash(digest)).prefix(Self.versionLength))
        var entry = Self.entry
        if let bundle = WebBundle.join(from: Self.entry, sources) {
            sources[Self.bundle] = bundle
            entry = Self.bundle
        }
        var files = Files(version: version)
        for (name, bytes) in sources {
            guard let type = WebFile.type(of: name) else { continue }
            if name == "index.html" {
                files.page = WebFile(Self.lead(bytes, to: "web/\(version)/", entry), type: type, .ask)
            } else {
                files.named[name] = WebFile(bytes, type: type, .forever)
            }
        }
        return files
    }

    /// Replaces the page's relative links by addresses in `folder`.
    private static func lead(_ html: [UInt8], to folder: String, _ entry: String) -> [UInt8] {
        var text = String(decoding: html, as: UTF8.self).replacing("\"\(Self.entry)\"", with: "\"\(entry)\"")
        for attribute in ["href", "src"] {
            text = text.replacing("\(attribute)=\"", with: "\(attribute)=\"\(folder)")
        }
        return Array(text.utf8)
    }
}
