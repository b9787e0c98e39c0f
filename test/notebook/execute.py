"""Executes notebooks from a clean state and prints each cell's outputs as JSON: execute.py FOLDER NOTEBOOK... [--write]

FOLDER is the working folder, in whose node_modules warploom is. --write stores the outputs in the notebooks. Deno's kernel may say that it
is idle before it sends a result, which nbclient would then lose: messages are taken until the kernel has been silent for a while.
"""
import json
import queue
import sys
import time

from jupyter_client.manager import start_new_kernel

LIMIT, SILENCE = 240, 0.5  # seconds
METADATA = {"kernelspec": {"display_name": "Deno", "language": "typescript", "name": "deno"}, "language_info": {"name": "typescript"}}


def output_of(message):
    kind, content = message["msg_type"], message["content"]
    if kind == "execute_result":
        return {"output_type": kind, "metadata": {}, "data": content["data"], "execution_count": content["execution_count"]}
    if kind == "display_data":
        return {"output_type": kind, "metadata": {}, "data": content["data"]}
    if kind == "stream":
        return {"output_type": kind, "name": content["name"], "text": content["text"]}
    if kind == "error":
        return {"output_type": kind, "ename": content["ename"], "evalue": content["evalue"], "traceback": content["traceback"]}
    return None


def run(client, source):
    """The outputs of one cell."""
    request, outputs, idle, end = client.execute(source), [], False, time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            message = client.get_iopub_msg(timeout=SILENCE)
        except queue.Empty:
            if idle:
                return outputs
            continue
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "status":
            idle = message["content"]["execution_state"] == "idle"
        elif (output := output_of(message)) is not None:
            outputs.append(output)
    raise TimeoutError(f"a cell took more than {LIMIT} s: {source}")


def execute(path, folder):
    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    manager, client = start_new_kernel(kernel_name="deno", cwd=folder, startup_timeout=LIMIT)
    try:
        code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        for count, cell in enumerate(code, 1):
            cell["outputs"] = run(client, "".join(cell["source"]))
            cell["execution_count"] = count
            cell["metadata"] = {}
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    book["metadata"] = METADATA
    return book, [cell["outputs"] for cell in code]


def main():
    folder, *paths = [each for each in sys.argv[1:] if each != "--write"]
    for path in paths:
        book, cells = execute(path, folder)
        if "--write" in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(book, file, indent=1, ensure_ascii=False)
                file.write("\n")
        print(json.dumps({"path": path, "cells": cells}))


main()
