import Foundation
import ParlorHTTP
import ParlorTestSupport
import ParlorWorkers
import Testing

@testable import ParlorWebPage

@Suite("The web client's files", .timeLimit(.minutes(1)))
struct WebPageTests {
    private static let script = String(repeating: "export const number = 1;\n", count: 40)

    /// Runs a test with a page in a folder of its own, which is removed with the test.
    private static func run(_ test: (WebPage, String) async throws -> Void) async throws {
        let folder = TemporaryFolder()
        for (name, text) in [
            ("index.html", #"<link href="a.css"><script src="page/run.js"></script>"#), ("a.css", "a {}"),
            ("page/run.js", script), ("page/notes.txt", "not for browsers"), ("dev/mock.js", "not shipped"),
            (".hidden.js", "hidden"),
        ] { try write(text, to: folder.file(name)) }
        try await test(page(in: folder.path), folder.path)
        withExtendedLifetime(folder) {}
    }

    private static func page(in folder: String) -> WebPage {
        WebPage(in: folder, readingOn: TaskThread(named: "web", priority: .normal))
    }

    private static func write(_ text: String, to path: String) throws {
        let folder = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private static func get(_ path: String, from page: WebPage, _ headers: HTTPHeaders = [:]) async -> HTTPResponse? {
        await page.response(to: HTTPRequest(method: "GET", target: path, path: path, headers: headers))
    }

    /// Returns the addresses that the page links.
    private static func links(of page: WebPage) async throws -> [String] {
        let html = String(decoding: try #require(await get("/", from: page)).body, as: UTF8.self)
        return html.split(separator: "\"").filter { $0.hasPrefix("web/") }.map { "/\($0)" }
    }

    @Test(
        "the page links its files under a versioned path, which browsers cache; the page itself is requested each time")
    func versions() async throws {
        try await Self.run { page, folder in
            let links = try await Self.links(of: page)
            #expect(links.count == 2)
            let style = try #require(await Self.get(links[0], from: page))
            #expect(style.status == 200 && style.body == Array("a {}".utf8))
            #expect(style.headers["Cache-Control"] == "public, max-age=31536000, immutable")
            #expect(await Self.get("/", from: page)?.headers["Cache-Control"] == "no-cache")
            try Self.write("b {}", to: "\(folder)/a.css")
            #expect(try await Self.links(of: page) == links, "it is read once")
            let next = Self.page(in: folder)
            let successors = try await Self.links(of: next)
            #expect(successors[0] != links[0] && successors[1] != links[1], "the version is of all files")
            let older = try #require(await Self.get(links[0], from: next), "a release is being rolled out")
            #expect(older.body == Array("b {}".utf8) && older.headers["Cache-Control"] == "no-cache")
            #expect(await Self.get("/web/\(String(repeating: "x", count: 17))/a.css", from: next) == nil)
            #expect(await Self.get("/web/a.css", from: next) == nil)
        }
    }

    @Test("the page links one script in place of its modules")
    func bundle() async throws {
        let folder = TemporaryFolder()
        for (name, text) in [
            ("index.html", #"<link rel="modulepreload" href="page/main.js"><script src="page/main.js"></script>"#),
            ("page/main.js", "import { a } from \"./a.js\";\nrun(a);"), ("page/a.js", "export const a = 1;"),
        ] { try Self.write(text, to: folder.file(name)) }
        let page = Self.page(in: folder.path)
        let links = try await Self.links(of: page)
        #expect(links.count == 2 && links.allSatisfy { $0.hasSuffix("/page/bundle.js") })
        let script = try #require(await Self.get(links[0], from: page))
        #expect(String(decoding: script.body, as: UTF8.self).contains("const { a } = $1;\nrun(a);"))
        let module = await Self.get(links[0].replacing("bundle", with: "a"), from: page)
        #expect(module?.body == Array("export const a = 1;".utf8), "who takes the library alone gets its modules")
        withExtendedLifetime(folder) {}
    }

    @Test("a client that accepts gzip gets it where it is shorter, under its own tag")
    func compression() async throws {
        try await Self.run { page, _ in
            let links = try await Self.links(of: page)
            for accepted in ["gzip", "br, gzip;q=0.5", "deflate , GZIP"] {
                let script = try #require(await Self.get(links[1], from: page, ["Accept-Encoding": accepted]))
                #expect(script.headers["Content-Encoding"] == "gzip")
                #expect(script.body.starts(with: [0x1F, 0x8B]) && script.body.count < Self.script.utf8.count / 4)
            }
            for refused in ["", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip"] {
                let script = try #require(await Self.get(links[1], from: page, ["Accept-Encoding": refused]))
                #expect(script.headers["Content-Encoding"] == nil && script.body == Array(Self.script.utf8))
            }
            let style = try #require(await Self.get(links[0], from: page, ["Accept-Encoding": "gzip"]))
            #expect(style.headers["Content-Encoding"] == nil, "it would be longer")
            let tag = try #require(
                await Self.get(links[1], from: page, ["Accept-Encoding": "gzip"])?.headers["ETag"])
            let known = try #require(
                await Self.get(links[1], from: page, ["Accept-Encoding": "gzip", "If-None-Match": tag]))
            #expect(known.status == 304 && known.body.isEmpty)
            #expect(await Self.get(links[1], from: page, ["If-None-Match": tag])?.status == 200)
        }
    }

    @Test("concurrent requests share one reading")
    func together() async throws {
        try await Self.run { page, _ in
            let statuses = await withTaskGroup(of: Int?.self) { group in
                for _ in 0..<20 { group.addTask { await Self.get("/", from: page)?.status } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 20))
        }
    }

    @Test("nothing else in the folder is served, nor anything beside it")
    func nothingElse() async throws {
        try await Self.run { page, _ in
            let folder = String(try await Self.links(of: page)[0].dropLast("a.css".count))
            for name in [
                "", "index.html", "page/notes.txt", "dev/mock.js", ".hidden.js", "../a.css", "page/../a.css", "/a.css",
            ] { #expect(await Self.get(folder + name, from: page) == nil) }
        }
    }

    @Test("a page with an unreadable file is not served, and is read again at the next request")
    func unreadable() async throws {
        try await Self.run { page, folder in
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/b.css", withDestinationPath: "nowhere")
            #expect(await Self.get("/", from: page) == nil)
            try FileManager.default.removeItem(atPath: "\(folder)/b.css")
            #expect(await Self.get("/", from: page)?.status == 200)
        }
    }

    @Test("a folder without a page is checked again at the next request")
    func later() async throws {
        let folder = TemporaryFolder()
        let page = Self.page(in: folder.file("web"))
        #expect(await Self.get("/", from: page) == nil)
        try Self.write("<p>", to: folder.file("web/index.html"))
        #expect(await Self.get("/", from: page)?.status == 200)
        withExtendedLifetime(folder) {}
    }

    @Test("the files are found where they are installed, or in the build's checkout")
    func folders() throws {
        let folder = TemporaryFolder()
        let root = folder.path
        #expect(WebFolder.find(besides: "\(root)/bin/parlor") == nil)
        try Self.write("", to: "\(root)/Clients/Web/index.html")
        #expect(WebFolder.find(besides: "\(root)/.build/release/parlor")?.path == "\(root)/Clients/Web")
        try Self.write("", to: "\(root)/share/parlor/web/index.html")
        #expect(WebFolder.find(besides: "\(root)/bin/parlor")?.path == "\(root)/share/parlor/web")
        withExtendedLifetime(folder) {}
    }
}
