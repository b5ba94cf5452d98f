import ParlorTestSupport
import Testing

@testable import ParlorWebPage

@Suite("One script of a page's modules")
struct WebBundleTests {
    private static func join(_ sources: [String: String]) -> String? {
        WebBundle.join(from: "page/main.js", sources.mapValues { Array($0.utf8) })
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("each module appears once, after its imports, under the names that modules export, and without comments")
    func order() throws {
        let text = try #require(
            Self.join([
                "page/main.js": """
                import { begin } from "./app.js";
                import words from "../texts.js";
                begin(words);
                """,
                "page/app.js": """
                import words from "../texts.js";
                export { note } from "../lib/notes.js";
                // The limit.
                const LIMIT = 3;

                /** Begins. */
                export async function begin() { return LIMIT; }
                /**
                 * A view.
                 */
                export class View {}
                export { LIMIT };
                """,
                "texts.js": "export default {\n  a: 1,\n};", "lib/notes.js": "export const note = 1;",
            ]))
        #expect(
            text == """
                // texts.js
                const $1 = (() => {
                const $default = {
                  a: 1,
                };
                return { default: $default };
                })();
                // lib/notes.js
                const $2 = (() => {
                const note = 1;
                return { note };
                })();
                // page/app.js
                const $3 = (() => {
                const { default: words } = $1;

                const LIMIT = 3;
                async function begin() { return LIMIT; }
                class View {}

                return { LIMIT, View, begin, note: $2.note };
                })();
                // page/main.js
                const $4 = (() => {
                const { begin } = $3;
                const { default: words } = $1;
                begin(words);
                return {  };
                })();

                """)
    }

    @Test(
        "an unknown form of import yields no bundle",
        arguments: [
            "import * as all from \"./a.js\";", "import { a as b } from \"./a.js\";", "import {", "export let a = 1;",
            "export const { a } = {};", "export * from \"./a.js\";", "import \"./a.js\";",
            "import { a } from \"./gone.js\";", "import { b } from \"./a.js\";", "import a from \"./a.js\";",
            "import { a } from \"./main.js\";", "/* a */ begin();", "/* a",
        ])
    func unknownForms(line: String) {
        #expect(Self.join(["page/main.js": line, "page/a.js": "export const a = 1;"]) == nil)
    }
}
