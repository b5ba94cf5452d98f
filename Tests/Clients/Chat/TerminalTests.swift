import ParlorClientTesting
import Testing

@testable import ParlorChat

@Suite("A terminal's keys and columns")
struct TerminalTests {
    @Test("bytes are parsed into keys, also one at a time")
    func keys() {
        let bytes = Array("hé👍\r\u{1b}[A\u{1b}OB\u{1b}[3~\u{1b}[1;5C\u{7f}\u{1}\t".utf8)
        let expected: [Key] = [
            .character("h"), .character("é"), .character("👍"), .enter, .up, .down, .delete, .right, .backspace,
            .control("a"), .tab,
        ]
        var whole = KeyParser()
        let together = whole.parse(bytes)
        #expect(together == expected)
        var single = KeyParser()
        let keys = bytes.flatMap { single.parse([$0]) }
        #expect(keys == expected)
    }

    @Test("an escape is a key if nothing follows it")
    func escape() {
        var parser = KeyParser()
        var keys = parser.parse([0x1b])
        #expect(keys == [] && parser.isInside)
        keys = parser.finish()
        #expect(keys == [.escape])
        keys = parser.parse([0x1b, 0x1b])
        #expect(keys == [.escape])
        keys = parser.finish()
        #expect(keys == [.escape])
    }

    @Test("pasted text is one key, whatever it contains and however it arrives")
    func paste() {
        let bytes = Array("a\u{1b}[200~one\r\ntwo\rthree\tfour\u{1b}[A\u{3}\u{1b}[201~b".utf8)
        let expected: [Key] = [.character("a"), .paste("one\ntwo\nthree four[A"), .character("b")]
        var whole = KeyParser()
        let together = whole.parse(bytes)
        #expect(together == expected)
        var single = KeyParser()
        let keys = bytes.flatMap { single.parse([$0]) }
        #expect(keys == expected)
        var endless = KeyParser()
        var cut = endless.parse(Array("\u{1b}[200~".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 18))
        #expect(cut == [] && endless.isInside)
        cut = endless.finish()
        #expect(cut == [.paste(String(repeating: "x", count: 1 << 16))])
        let after = endless.parse([UInt8(ascii: "y")])
        #expect(after == [.character("y")])
    }

    @Test("a sequence that is too long is dropped to its final byte, also if its end is lost")
    func longSequence() {
        let long = Array(("\u{1b}[" + String(repeating: "1;", count: 30)).utf8)
        var whole = KeyParser()
        let ended = whole.parse(long + Array("Cx\u{1b}[A".utf8))
        #expect(ended == [.character("x"), .up])
        var single = KeyParser()
        let apart = (long + Array("~x".utf8)).flatMap { single.parse([$0]) }
        #expect(apart == [.character("x")])
        var silent = KeyParser()
        var keys = silent.parse(long)
        #expect(keys == [] && silent.isInside)
        keys = silent.finish()
        #expect(keys == [] && !silent.isInside)
        keys = silent.parse(Array("7".utf8))
        #expect(keys == [.character("7")])
        keys = silent.parse(long + Array("\u{1b}[B7".utf8))
        #expect(keys == [.down, .character("7")])
    }

    @Test("arbitrary bytes do not break the parser")
    func noise() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            var parser = KeyParser()
            _ = parser.parse(
                (0..<Int.random(in: 1...40, using: &random)).map { _ in .random(in: 0...255, using: &random) })
            _ = parser.finish()
            let keys = parser.parse([UInt8(ascii: "x")])
            #expect(keys == [.character("x")])
        }
    }

    @Test("a line is edited at the cursor")
    func editing() {
        var line = LineEditor()
        for character in "one two three" { line.press(.character(character)) }
        line.press(.control("w"))
        #expect(line.text == "one two ")
        line.press(.home)
        line.press(.delete)
        line.press(.character("O"))
        #expect(line.text == "One two " && line.cursor == 1)
        line.press(.control("k"))
        #expect(line.text == "O")
        line.press(.backspace)
        line.press(.backspace)
        #expect(line.isEmpty)
        let isEdited = line.press(.enter)
        #expect(!isEdited)
    }

    @Test("an accent or a part of an emoji that is typed by itself joins the character before it")
    func composed() {
        var line = LineEditor()
        for scalar in "e\u{301}👩\u{200d}💻x".unicodeScalars { line.press(.character(Character(scalar))) }
        #expect(line.text == "é👩‍💻x" && line.cursor == 3)
        line.press(.left)
        line.press(.backspace)
        #expect(line.text == "éx" && line.cursor == 1)
        #expect("\u{301}".columns == 0 && "\u{200d}".columns == 0 && line.text.columns == 2)
    }

    @Test("wide characters take two columns, and no line exceeds its width")
    func widths() {
        #expect("añ日👍".columns == 6)
        #expect("日本語".cut(to: 4) == "日…")
        #expect("ab".fitted(to: 4) == "ab  ")
        #expect("the quick brown fox".wrapped(to: 9) == ["the quick", "brown fox"])
        #expect("abcdefghij".wrapped(to: 4) == ["abcd", "efgh", "ij"])
        #expect("a\n\nb".wrapped(to: 4) == ["a", "", "b"])
        var random = SeededGenerator(seed: 2)
        for _ in 0..<500 {
            let text = String((0..<60).map { _ in "ab 日👍é ".randomElement(using: &random) ?? " " })
            let width = Int.random(in: 2...20, using: &random)
            #expect(text.wrapped(to: width).allSatisfy { $0.columns <= width }, "\(text)")
            #expect(text.cut(to: width).columns <= width)
        }
    }

    @Test("text from people cannot send control sequences to the terminal")
    func harmless() {
        #expect("a\u{1b}[2Jb\u{7}\u{9b}c\nd".harmless == "a [2Jb  c\nd")
        #expect("a\r\nb\nc\td\u{7}".harmlessLine == "a  b c d ")
    }
}
