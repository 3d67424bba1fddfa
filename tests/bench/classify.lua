-- classify.lua: wrk sends the bodies of a file to /v1/classify, one after the other, and in the end
-- writes what it saw as one line of JSON.
--
-- wrk -t1 -c16 -d10s -s tests/bench/classify.lua http://127.0.0.1:8080 -- BODIES
-- A line of BODIES is one JSON body; tests/bench/bench.py makes them from the labelled texts.
local requests = {}
local turn = 0

function init(arguments)
    for body in io.lines(arguments[1]) do
        local headers = { ["Content-Type"] = "application/json" }
        requests[#requests + 1] = wrk.format("POST", "/v1/classify", headers, body)
    end
end

function request()
    turn = turn % #requests + 1
    return requests[turn]
end

function done(summary, latency, _)
    local errors = summary.errors
    io.write(string.format(
        '{"requests":%d,"seconds":%.6f,"refused":%d,"broken":%d,"p50_ms":%.3f,"p99_ms":%.3f}\n',
        summary.requests, summary.duration / 1e6, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout,
        latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
