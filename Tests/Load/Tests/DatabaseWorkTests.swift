import Testing

@testable import parlor_bench

@Suite("Database work, as read from metrics")
struct DatabaseWorkTests {
    @Test("reads and snapshots of all services are counted between two samples, for each client")
    func difference() {
        func look(_ rooms: Int, _ messaging: Int) -> DatabaseWork {
            DatabaseWork(
                metrics: """
                    # HELP parlor_database_reads_total Reads.
                    # TYPE parlor_database_reads_total counter
                    parlor_database_reads_total{service="rooms"} \(rooms)
                    parlor_database_reads_total{service="messaging"} \(messaging)
                    parlor_database_snapshots_total{service="rooms"} \(rooms / 2)
                    parlor_requests_total{service="rooms"} 77

                    """)
        }
        let figures = (look(1000, 200) - look(100, 50)).figures(per: 100)
        #expect(figures.map(\.value) == [10.5, 4.5])
    }

    @Test("a report without database metrics does not mention databases")
    func none() {
        let metrics = DatabaseWork(metrics: "parlor_sockets 12\n")
        #expect((metrics - metrics).figures(per: 10).isEmpty)
    }
}
