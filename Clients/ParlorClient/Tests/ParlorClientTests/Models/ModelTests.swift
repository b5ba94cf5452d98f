import Foundation
import ParlorClient
import Testing

@Suite("Models")
struct ModelTests {
    @Test("a person's display name is the first name, or else the username")
    func displayName() {
        #expect(Person(id: "1", username: "ada", firstName: "Ada").displayName == "Ada")
        for name in [nil, "", " "] {
            #expect(Person(id: "1", username: "ada", firstName: name).displayName == "ada")
        }
    }
}
