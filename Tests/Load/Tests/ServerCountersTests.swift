import Testing

@testable import parlor_bench

@Suite("The server's counters, as read from metrics")
struct ServerCountersTests {
    @Test("a counter of all services is counted between two samples")
    func difference() {
        func look(_ rooms: Int, _ messaging: Int) -> ServerCounters {
            ServerCounters(
                metrics: """
                    # HELP parlor_database_reads_total Reads.
                    # TYPE parlor_database_reads_total counter
                    parlor_database_reads_total{service="rooms"} \(rooms)
                    parlor_database_reads_total{service="messaging"} \(messaging)
                    parlor_socket_writes_total \(rooms / 2)
                    parlor_ack_seconds_sum 0.25

                    """)
        }
        let difference = look(1000, 200) - look(100, 50)
        #expect(difference["parlor_database_reads_total"] == 1050)
        #expect(difference.figure("reads a client", "parlor_database_reads_total", per: 100)?.value == 10.5)
        #expect(difference["parlor_socket_writes_total"] == 450)
        #expect(difference["parlor_sockets"] == nil)
    }
}
