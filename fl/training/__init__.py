"""What a device learns in a round: a pure function of weights, data, seed and pruning.

recipe         how a device trains: iterations, rates, optimiser
batches        which samples each iteration sees
local_update   personal update, warm-up, mask, global update
evaluation     how good a device's model is on its own test samples
landscape      how steep, curved and noisy the losses are: the constants of Theorem 1
cohort         the devices' data and weights, in memory that processes can share
shared_memory  tensors where other processes see them
engine         what runs the updates of a round
inline         in this process, one after the other
processes      in processes beside it, several at a time
ray_tasks      on a Ray cluster, a few devices a task
errors         what may go wrong
"""
