import ParlorJSON
import ParlorSecurity
import Testing

@Suite("Tokens signed with a key on P-256")
struct ES256KeyTests {
    @Test(
        "an invalid key is refused",
        arguments: [
            "", "nothing", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            // On another curve.
            """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBII9NcCjte8YtigpH2
            4cQcZzFsaLSGMYFVteT6RmiYrek9c8TW0jQx7KGb7C+5aCmhZANiAAQdta8/v12j
            r4T7op1lCy1196H/qJRg63iUen2VXWy8d5oSXnPpj/n+x2oU3sgPMXcwYYS3XyRZ
            p3VQHLX1hWiu9lHVpW9iwqJuuStheymWWuYI4KuWy8iDzV5qRm5XH6c=
            -----END PRIVATE KEY-----
            """,
        ])
    func refused(text: String) {
        #expect(throws: ES256KeyError.self) { try ES256Key(pem: Array(text.utf8)) }
    }
}
