// Text that shows everything in it, on one line. Scalars that Unicode calls default ignorable (UAX 44,
// DerivedCoreProperties) are refused, except where writing needs them: a joiner in scripts that join and in
// emoji, a variation selector after a character with variants, the tags of a flag.

extension String {
    /// True if every scalar is visible, or is an invisible one that is needed where it stands. False for controls, line
    /// separators, direction marks (CVE-2021-42574), zero-width spaces, fillers and noncharacters.
    public var hasOnlyVisibleScalars: Bool {
        let scalars = Array(unicodeScalars)
        return scalars.indices.allSatisfy { index in
            scalars[index].isVisible
                || scalars[index].hasUse(after: scalars[..<index], before: scalars[(index + 1)...])
        }
    }
}

extension String {
    /// True if it shows nothing, as one of spaces does.
    public var isBlank: Bool { unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0.isBlankSymbol } }
}

extension Unicode.Scalar {
    fileprivate var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: !properties.isDefaultIgnorableCodePoint && !properties.isNoncharacterCodePoint
        }
    }

    /// True for symbols without a shape: Braille's blank pattern, the object replacement character, Khitan's filler, the
    /// null notehead.
    fileprivate var isBlankSymbol: Bool { [0x2800, 0xFFFC, 0x16FE4, 0x1D159].contains(value) }

    fileprivate func hasUse(
        after earlier: ArraySlice<Unicode.Scalar>, before later: ArraySlice<Unicode.Scalar>
    ) -> Bool {
        guard let previous = earlier.last else { return false }
        return switch value {
        case 0x200C, 0x200D: Self.canJoin(previous, later.first, isZWJ: value == 0x200D)
        case 0x180B...0x180D, 0x180F, 0xFE00...0xFE0F, 0xE0100...0xE01EF: varies(previous, before: later.first)
        case 0xE0020...0xE007F: Self.isFlag(earlier, self, later)
        default: false
        }
    }

    /// Returns true if a selector may select a variant of the scalar before it (Unicode's StandardizedVariants and
    /// emoji-variation-sequences, and the Ideographic Variation Database). After any other scalar it shows
    /// nothing, and makes a name that looks like another.
    private func varies(_ previous: Unicode.Scalar, before next: Unicode.Scalar?) -> Bool {
        switch value {
        case 0xFE0E, 0xFE0F: previous.isEmoji || (previous.isKeycapBase && value == 0xFE0F && next?.value == 0x20E3)
        case 0xFE00...0xFE02, 0xE0100...0xE01EF: previous.properties.isIdeographic
        case 0x180B...0x180D, 0x180F: (0x1820...0x18AF).contains(previous.value) && previous.isVisible
        default: false
        }
    }

    /// Returns true if a tag is part of a subdivision's flag (UTS 51, ED-14a): a black flag, three to six
    /// tags of letters or digits, and the end tag. Other tags show nothing.
    private static func isFlag(
        _ earlier: ArraySlice<Unicode.Scalar>, _ tag: Unicode.Scalar, _ later: ArraySlice<Unicode.Scalar>
    ) -> Bool {
        // Look at no more tags than the longest flag has, plus one.
        let before = earlier.reversed().prefix(regionLengths.upperBound + 1).prefix { $0.isRegionTag }
        let after = tag.isRegionTag ? later.prefix(regionLengths.upperBound + 1).prefix { $0.isRegionTag } : []
        guard earlier.dropLast(before.count).last?.value == 0x1F3F4,
            tag.isRegionTag ? later.dropFirst(after.count).first?.value == endOfTags : tag.value == endOfTags
        else { return false }
        return regionLengths.contains(before.count + (tag.isRegionTag ? 1 : 0) + after.count)
    }

    private static let regionLengths = 3...6
    private static let endOfTags: UInt32 = 0xE007F

    /// Returns true if a joiner has an effect: after a virama, between letters of a joining script (RFC 5892, A.1 and
    /// A.2), or, if it is a ZWJ, between emoji (UTS 51).
    private static func canJoin(_ previous: Unicode.Scalar, _ next: Unicode.Scalar?, isZWJ: Bool) -> Bool {
        if previous.properties.canonicalCombiningClass == .virama { return true }
        guard let next else { return false }
        if previous.isOfJoiningScript, next.isOfJoiningScript { return true }
        return isZWJ && previous.endsEmoji && next.isEmoji
    }

    /// True for a letter or mark of a script that joins: Arabic, Syriac, N'Ko and related scripts, the
    /// scripts of India, Myanmar, Khmer and Mongolian, and Arabic's presentation forms.
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

    /// True for emoji. Digits, `#` and `*` have the property, but are emoji only with an enclosing keycap.
    private var isEmoji: Bool { properties.isEmoji && !isKeycapBase }
    private var isKeycapBase: Bool { properties.isEmoji && isASCII }
    private var endsEmoji: Bool { isEmoji || value == 0xFE0F || value == Self.endOfTags }
    /// True for the tag of a small letter or a digit.
    private var isRegionTag: Bool { (0xE0030...0xE0039).contains(value) || (0xE0061...0xE007A).contains(value) }
}
