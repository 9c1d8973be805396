"""What becomes of an operator that breaks a condition of its kernel, in TensorFlow Lite Micro."""

from enum import Enum


class KernelOutcome(str, Enum):
    """What becomes of an operator that breaks a condition."""

    ALLOCATE_FAILS = "allocate_fails"
    """Prepare returns an error, so AllocateTensors fails."""
    INVOKE_FAILS = "invoke_fails"
    """Eval returns an error."""
    ABORTS_PREPARE = "aborts in Prepare"
    """TFLITE_CHECK in Prepare, which every build has."""
    ABORTS_INVOKE = "aborts in Invoke"
    """TFLITE_CHECK in Eval."""
    HALTS_PREPARE = "halts in Prepare"
    """TFLITE_DCHECK in Prepare, which builds with NDEBUG leave out."""
    HALTS_INVOKE = "halts in Invoke"
    """TFLITE_DCHECK in Eval."""
    WRONG = "wrong"
    """Wrong values, and status kTfLiteOk."""
    REFERENCE = "reference code"
    """Reference code runs where another operator of the kind is handed to CMSIS-NN."""
    UNREAD = "not read"
    """What the kernel did is not known."""


PREPARE, INVOKE, WRONG = KernelOutcome.ALLOCATE_FAILS, KernelOutcome.INVOKE_FAILS, KernelOutcome.WRONG
ABORTS_PREPARE, ABORTS_INVOKE = KernelOutcome.ABORTS_PREPARE, KernelOutcome.ABORTS_INVOKE
HALTS_PREPARE, HALTS_INVOKE = KernelOutcome.HALTS_PREPARE, KernelOutcome.HALTS_INVOKE
