"""What step_rate.c does, by the package in PYTHONPATH. usage: step_rate.py rate NAME COUNT STEPS"""

import sys

import lockstep


def main():
    name, count, steps = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    batch = lockstep.Batch([lockstep.Simulation(name) for _ in range(count)])
    inputs = bytearray(batch.input_bytes)
    for step in range(steps):
        inputs[0] = step & 3
        batch.step(inputs)
    print(f"hash {batch.simulations[0].hash():016x}")


main()
