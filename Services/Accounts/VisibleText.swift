// Text that shows all that is in it, on one line. What Unicode calls default ignorable (UAX 44, DerivedCoreProperties) is refused,
// but where writing needs it: a joiner in scripts that join and in emoji, a variation selector behind what it varies, the tags of
// a flag.

extension String {
    /// Whether every scalar shows something, or has its use where it stands. False for controls, separators of lines, marks of direction
    /// (CVE-2021-42574), zero-width spaces, fillers and noncharacters.
    var hasOnlyVisibleScalars: Bool {
        let scalars = Array(unicodeScalars)
        return scalars.indices.allSatisfy { index in
            scalars[index].isVisible
                || scalars[index].hasUse(
                    after: index > 0 ? scalars[index - 1] : nil,
                    before: index + 1 < scalars.count ? scalars[index + 1] : nil)
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: !properties.isDefaultIgnorableCodePoint && !properties.isNoncharacterCodePoint
        }
    }

    fileprivate func hasUse(after previous: Unicode.Scalar?, before next: Unicode.Scalar?) -> Bool {
        guard let previous else { return false }
        return switch value {
        case 0x200C, 0x200D: Self.canJoin(previous, next, isZWJ: value == 0x200D)
        case 0xFE00...0xFE0F, 0xE0100...0xE01EF, 0x180B...0x180D, 0x180F: previous.isVisible
        case 0xE0020...0xE007F: previous.isTag || previous.value == 0x1F3F4
        default: false
        }
    }

    /// As RFC 5892 has it for host names (appendix A.1 and A.2), and between emoji (UTS 51): `previous` and `next` belong to a script
    /// whose letters join or have conjuncts, or the virama alone says what becomes of its letter.
    private static func canJoin(_ previous: Unicode.Scalar, _ next: Unicode.Scalar?, isZWJ: Bool) -> Bool {
        if previous.properties.canonicalCombiningClass == .virama { return true }
        guard let next else { return false }
        if previous.isOfJoiningScript, next.isOfJoiningScript { return true }
        return isZWJ && previous.endsEmoji && next.isEmoji
    }

    /// A letter or mark of Arabic, Syriac, N'Ko and their kin, of India's scripts, Myanmar, Khmer and Mongolian, or of Arabic's
    /// presentation forms.
    private var isOfJoiningScript: Bool {
        guard isVisible else { return false }
        return switch value {
        case 0x0600...0x0DFF, 0x1000...0x109F, 0x1780...0x18AF, 0x1CD0...0x1CFF, 0xA8E0...0xA8FF, 0xFB50...0xFDFF,
            0xFE70...0xFEFC:
            properties.isAlphabetic || properties.canonicalCombiningClass != .notReordered
                || [.nonspacingMark, .spacingMark].contains(properties.generalCategory)
        default: false
        }
    }

    /// Digits, `#` and `*` have the property, but are none by themselves.
    private var isEmoji: Bool { properties.isEmoji && value > 0xFF }
    private var endsEmoji: Bool { isEmoji || value == 0xFE0F || isTag }
    private var isTag: Bool { (0xE0020...0xE007F).contains(value) }
}
