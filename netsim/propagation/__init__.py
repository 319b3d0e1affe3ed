"""What attenuates a radio signal, from slow to fast.

mobility   where a device is over time, and how far it has travelled
path_loss  mean attenuation over distance, and the probability of a line of sight
shadowing  obstacles: correlated over the distance travelled
fading     many paths: changes within a wavelength
"""
