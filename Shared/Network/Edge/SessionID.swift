import Security

/// The id of an Engine.IO session: `INSTANCE.LOOP.RANDOM`, without the first part where no instance is named. It says on
/// which loop the session lives, and its random part is what keeps others from guessing it.
struct SessionID {
    let text: String
    let loop: Int

    init(instance: String, loop: Int, randomness: any Randomness) {
        self.loop = loop
        let parts = [instance, String(loop), Base64URL.encode(randomness.bytes(15))]
        text = parts.filter { !$0.isEmpty }.joined(separator: ".")
    }

    /// nil if it is none of this instance's.
    init?(_ text: String, instance: String, loopCount: Int) {
        var parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if !instance.isEmpty, parts.removeFirst() != instance { return nil }
        guard parts.count == 2, parts[0].utf8.count <= 4, let loop = Int(parts[0]), (0..<loopCount).contains(loop)
        else {
            return nil
        }
        self.text = text
        self.loop = loop
    }
}
