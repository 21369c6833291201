"""Forwards TCP connections until it is killed: forward.py FROM-ADDRESS FROM-PORT TO-PORT. invoke.sh lets a container reach LocalStack by it.

LocalStack listens on 127.0.0.1, which inside a container is the container itself. The address is the host's own on a Docker bridge.
"""

import asyncio
import sys


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main(address: str, port: int, to: int) -> None:
    async def connect(reader, writer):
        there = await asyncio.open_connection("127.0.0.1", to)
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    server = await asyncio.start_server(connect, address, port)
    print("listening", flush=True)
    await server.serve_forever()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
